// Names of schedules, and the proof that lanes neither hang nor lose work. The proof plays all lanes at once
// with the weakest messages the runtime may rely on: a send completes only when its receive is posted, a
// receive is posted only when its action is next, and one send per direction may be under way.
#include "plan/schedule.hpp"

#include <algorithm>

#include "core/errors.hpp"
#include "core/format.hpp"
#include "plan/schedules/lanes.hpp"

namespace galvatron::plan {
namespace {

const ScheduleRow& row_of(ScheduleKind kind) {
  const auto& rows = schedule_table();
  const auto row =
      std::find_if(rows.begin(), rows.end(), [&](const ScheduleRow& r) { return r.kind == kind; });
  GALV_ASSERT(row != rows.end(), kind);
  return *row;
}

std::string_view name_of(ActionKind kind) {
  return kind == ActionKind::forward ? "forward" : "backward";
}

std::string to_string(const Action& action) {
  return core::format("{}({})", name_of(action.kind), action.micro);
}

int64_t micros_of(const std::vector<Lane>& lanes) {
  int64_t micros = 0;
  for (const Lane& lane : lanes)
    for (const Action& action : lane) micros = std::max<int64_t>(micros, int64_t{action.micro} + 1);
  return micros;
}

/// Every micro-batch forward once, then backward once.
std::optional<std::string> find_lost_work(const Lane& lane, size_t stage, int64_t micros) {
  std::vector<int> forwards(static_cast<size_t>(micros)), backwards(static_cast<size_t>(micros));
  for (const Action& action : lane) {
    if (action.micro < 0)
      return core::format("stage {}: {} has no such micro-batch", stage, to_string(action));
    if (action.chunk != 0)
      return core::format("stage {}: {} names chunk {}, but a stage is one chunk", stage, to_string(action),
                          action.chunk);
    const auto micro = static_cast<size_t>(action.micro);
    const bool forward = action.kind == ActionKind::forward;
    if (!forward && forwards[micro] == 0)
      return core::format("stage {}: {} comes before its forward", stage, to_string(action));
    if (++(forward ? forwards : backwards)[micro] > 1)
      return core::format("stage {}: {} comes twice", stage, to_string(action));
  }
  for (int64_t micro = 0; micro < micros; ++micro) {
    const auto i = static_cast<size_t>(micro);
    if (forwards[i] == 0) return core::format("stage {}: forward({}) is missing", stage, micro);
    if (backwards[i] == 0) return core::format("stage {}: backward({}) is missing", stage, micro);
  }
  return std::nullopt;
}

/// Messages from one stage to its neighbour in one direction.
struct Channel {
  int32_t under_way = -1;  ///< micro-batch whose send has not completed
};

/// All lanes played together.
class Rehearsal {
 public:
  explicit Rehearsal(const std::vector<Lane>& lanes)
      : lanes_(lanes), at_(lanes.size()), down_(lanes.size()), up_(lanes.size()) {}

  std::optional<std::string> run() {
    for (bool moved = true; moved;) {
      moved = false;
      for (size_t stage = 0; stage < lanes_.size(); ++stage)
        while (!fault_ && advance(stage)) moved = true;
      if (fault_) return fault_;
    }
    std::vector<std::string> stuck;
    for (size_t stage = 0; stage < lanes_.size(); ++stage)
      if (at_[stage] < lanes_[stage].size())
        stuck.push_back(core::format("stage {} waits at {}", stage, to_string(lanes_[stage][at_[stage]])));
    if (stuck.empty()) return std::nullopt;
    return "the lanes hang: " + core::join(stuck, ", ");
  }

 private:
  /// Channel from which the action receives, and the one on which it sends; null at the ends of the pipeline.
  Channel* source(size_t stage, ActionKind kind) {
    if (kind == ActionKind::forward) return stage == 0 ? nullptr : &down_[stage - 1];
    return stage + 1 == lanes_.size() ? nullptr : &up_[stage + 1];
  }
  Channel* target(size_t stage, ActionKind kind) {
    if (kind == ActionKind::forward) return stage + 1 == lanes_.size() ? nullptr : &down_[stage];
    return stage == 0 ? nullptr : &up_[stage];
  }

  bool advance(size_t stage) {
    if (at_[stage] == lanes_[stage].size()) return false;
    const Action action = lanes_[stage][at_[stage]];
    Channel* from = source(stage, action.kind);
    Channel* to = target(stage, action.kind);
    if (from != nullptr && from->under_way < 0) return false;
    if (from != nullptr && from->under_way != action.micro) {
      fault_ = core::format("stage {} wants {} next, but its neighbour sends micro-batch {} first", stage,
                            to_string(action), from->under_way);
      return false;
    }
    if (to != nullptr && to->under_way >= 0) return false;
    if (from != nullptr) from->under_way = -1;
    if (to != nullptr) to->under_way = action.micro;
    ++at_[stage];
    return true;
  }

  const std::vector<Lane>& lanes_;
  std::vector<size_t> at_;
  std::vector<Channel> down_, up_;
  std::optional<std::string> fault_;
};

}  // namespace

std::string_view name_of(ScheduleKind kind) {
  return row_of(kind).name;
}

ScheduleKind schedule_named(std::string_view name) {
  std::vector<std::string> names;
  for (const ScheduleRow& row : schedule_table()) {
    if (row.name == name) return row.kind;
    names.push_back(core::format("'{}'", row.name));
  }
  throw core::UserError(core::format("unknown schedule '{}'; there are {}", name, core::join(names, ", ")));
}

std::vector<Lane> make_schedule(ScheduleKind kind, int64_t stages, int64_t micros) {
  GALV_ASSERT(stages >= 1 && micros >= 1, stages, micros);
  std::vector<Lane> lanes;
  for (int64_t stage = 0; stage < stages; ++stage) lanes.push_back(row_of(kind).lane(stage, stages, micros));
  return lanes;
}

int64_t in_flight(const Lane& lane) {
  int64_t now = 0, most = 0;
  for (const Action& action : lane) {
    now += action.kind == ActionKind::forward ? 1 : -1;
    most = std::max(most, now);
  }
  return most;
}

std::optional<std::string> find_fault(const std::vector<Lane>& lanes) {
  const int64_t micros = micros_of(lanes);
  for (size_t stage = 0; stage < lanes.size(); ++stage)
    if (auto lost = find_lost_work(lanes[stage], stage, micros)) return lost;
  return Rehearsal(lanes).run();
}

}  // namespace galvatron::plan
