// Event-driven, without a queue: a stage's next action is ready as soon as the messages it needs have a time
// of arrival, so sweeping over the stages until nothing moves visits every action once.
#include "cost/simulator.hpp"

#include <algorithm>

#include "core/errors.hpp"

namespace galvatron::cost {
namespace {

using plan::Action;
using plan::ActionKind;

/// Messages from one stage to a neighbour: when each arrived.
struct Channel {
  std::vector<double> arrivals;
  size_t received = 0;

  double free_at() const { return arrivals.empty() ? 0 : arrivals.back(); }
};

class Clock {
 public:
  Clock(const std::vector<plan::Lane>& lanes, const std::vector<StageTimes>& times)
      : lanes_(lanes), times_(times), now_(lanes.size()), down_(lanes.size()), up_(lanes.size()) {
    result_.busy.resize(lanes.size());
    result_.timeline.resize(lanes.size());
  }

  Simulation run() {
    for (bool moved = true; moved;) {
      moved = false;
      for (size_t stage = 0; stage < lanes_.size(); ++stage)
        while (advance(stage)) moved = true;
    }
    finish();
    return std::move(result_);
  }

 private:
  bool advance(size_t stage) {
    auto& done = result_.timeline[stage];
    if (done.size() == lanes_[stage].size()) return false;
    const Action action = lanes_[stage][done.size()];
    const bool forward = action.kind == ActionKind::forward, last = stage + 1 == lanes_.size();
    Channel* from = forward ? (stage == 0 ? nullptr : &down_[stage - 1]) : (last ? nullptr : &up_[stage + 1]);
    Channel* to = forward ? (last ? nullptr : &down_[stage]) : (stage == 0 ? nullptr : &up_[stage]);
    double begin = now_[stage];
    if (from != nullptr) {
      if (from->received == from->arrivals.size()) return false;
      begin = std::max(begin, from->arrivals[from->received++]);
    }
    const StageTimes& t = times_[stage];
    const double duration = forward ? t.forward : t.backward;
    double end = begin + duration;
    done.push_back({action, begin, end});
    result_.busy[stage] += duration;
    if (to != nullptr) {
      end = std::max(end, to->free_at());
      to->arrivals.push_back(end + (forward ? t.send_forward : t.send_backward));
    }
    now_[stage] = end;
    return true;
  }

  void finish() {
    double agreed = 0, update = 0;
    for (size_t stage = 0; stage < lanes_.size(); ++stage) {
      GALV_ASSERT(result_.timeline[stage].size() == lanes_[stage].size(), stage);
      agreed = std::max(agreed, now_[stage] + times_[stage].sync);
      update = std::max(update, times_[stage].update);
      result_.busy[stage] += times_[stage].sync + times_[stage].update;
    }
    result_.makespan = agreed + update;
    for (const double busy : result_.busy) result_.wait.push_back(result_.makespan - busy);
  }

  const std::vector<plan::Lane>& lanes_;
  const std::vector<StageTimes>& times_;
  std::vector<double> now_;
  std::vector<Channel> down_, up_;  // by sending stage: to the next one, to the previous one
  Simulation result_;
};

}  // namespace

Simulation simulate(const std::vector<plan::Lane>& lanes, const std::vector<StageTimes>& times) {
  GALV_ASSERT(lanes.size() == times.size() && !lanes.empty(), lanes.size(), times.size());
  return Clock(lanes, times).run();
}

}  // namespace galvatron::cost
