// Event-driven, without a queue: a rank's next action is ready as soon as the messages it needs have a time
// of arrival, so sweeping over the ranks until nothing moves visits every action once.
#include "cost/simulator.hpp"

#include <algorithm>

#include "core/errors.hpp"

namespace galvatron::cost {
namespace {

using plan::Action;
using plan::ActionKind;

/// Messages into one stage in one direction: when each arrived.
struct Channel {
  std::vector<double> arrivals;
  size_t received = 0;

  double free_at() const { return arrivals.empty() ? 0 : arrivals.back(); }
};

class Clock {
 public:
  Clock(const std::vector<plan::Lane>& lanes, const std::vector<StageTimes>& times, Keep keep)
      : lanes_(lanes),
        times_(times),
        keep_(keep),
        shape_{static_cast<int64_t>(lanes.size()), 1, static_cast<int64_t>(times.size() / lanes.size())},
        now_(lanes.size()),
        done_(lanes.size()),
        channels_(2 * times.size()) {
    result_.busy.resize(lanes.size());
    result_.timeline.resize(lanes.size());
  }

  Simulation run() {
    for (bool moved = true; moved;) {
      moved = false;
      for (size_t rank = 0; rank < lanes_.size(); ++rank)
        while (advance(rank)) moved = true;
    }
    finish();
    return std::move(result_);
  }

 private:
  Channel* channel(int64_t index) { return index < 0 ? nullptr : &channels_[static_cast<size_t>(index)]; }

  bool advance(size_t rank) {
    if (done_[rank] == lanes_[rank].size()) return false;
    const Action& action = lanes_[rank][done_[rank]];
    const auto route = plan::route_of(action, static_cast<int64_t>(rank), shape_);
    Channel *from = channel(route.from), *to = channel(route.to);
    double begin = now_[rank];
    if (from != nullptr) {
      if (from->received == from->arrivals.size()) return false;
      begin = std::max(begin, from->arrivals[from->received++]);
    }
    const StageTimes& t = times_[static_cast<size_t>(action.chunk) * lanes_.size() + rank];
    const bool forward = action.kind == ActionKind::forward;
    const double duration = forward ? t.forward : t.backward;
    double end = begin + duration;
    if (keep_ == Keep::timeline) result_.timeline[rank].push_back({action, begin, end});
    ++done_[rank];
    result_.busy[rank] += duration;
    if (to != nullptr) {
      end = std::max(end, to->free_at());
      to->arrivals.push_back(end + (forward ? t.send_forward : t.send_backward));
    }
    now_[rank] = end;
    return true;
  }

  void finish() {
    double agreed = 0, most_update = 0;
    for (size_t rank = 0; rank < lanes_.size(); ++rank) {
      GALV_ASSERT(done_[rank] == lanes_[rank].size(), rank);
      double sync = 0, update = 0;
      for (size_t stage = rank; stage < times_.size(); stage += lanes_.size()) {
        sync += times_[stage].sync;
        update += times_[stage].update;
      }
      agreed = std::max(agreed, now_[rank] + sync);
      most_update = std::max(most_update, update);
      result_.busy[rank] += sync + update;
    }
    result_.makespan = agreed + most_update;
    for (const double busy : result_.busy) result_.wait.push_back(result_.makespan - busy);
  }

  const std::vector<plan::Lane>& lanes_;
  const std::vector<StageTimes>& times_;
  Keep keep_;
  plan::PipelineShape shape_;
  std::vector<double> now_;
  std::vector<size_t> done_;  ///< actions, per rank
  std::vector<Channel> channels_;
  Simulation result_;
};

}  // namespace

double least_makespan(const std::vector<StageTimes>& times, const std::vector<int64_t>& slots,
                      const plan::PipelineShape& shape) {
  const auto micros = static_cast<double>(shape.micros);
  const auto ranks = static_cast<size_t>(shape.ranks);
  // Of the first micro-batch: forwards before a rank, all of them, backwards after a rank.
  double before = 0, forwards = 0, after = 0, back = 0, agreed = 0, update = 0;
  for (const StageTimes& t : times) {
    forwards += t.forward + t.send_forward;
    after += t.backward + t.send_backward;
  }
  for (size_t rank = 0; rank < ranks; ++rank) {
    const StageTimes& t = times[rank];
    double work = 0, sync = 0, own_update = 0;
    for (size_t stage = rank; stage < times.size(); stage += ranks) {
      work += micros * (times[stage].forward + times[stage].backward);
      sync += times[stage].sync;
      own_update += times[stage].update;
    }
    update = std::max(update, own_update);
    agreed = std::max(agreed, work + sync);
    if (shape.chunks > 1) continue;
    after -= t.backward + t.send_backward;
    const double late = micros - static_cast<double>(slots[rank]);
    const double end = std::max(before + work, forwards + after + late * t.forward + micros * t.backward);
    back += t.send_backward;
    agreed = std::max({agreed, end + sync, end + back + times[0].sync});
    back += t.backward;
    before += t.forward + t.send_forward;
  }
  return (agreed + update) * (1 - 1e-9);  // sums in another order
}

Simulation simulate(const std::vector<plan::Lane>& lanes, const std::vector<StageTimes>& times, Keep keep) {
  GALV_ASSERT(!lanes.empty() && !times.empty() && times.size() % lanes.size() == 0, lanes.size(),
              times.size());
  return Clock(lanes, times, keep).run();
}

}  // namespace galvatron::cost
