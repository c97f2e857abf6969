// The proof that lanes neither hang nor lose work. It plays all lanes at once with the weakest messages the
// runtime may rely on: a send completes only when its receive is posted, a receive is posted only when its
// action is next, and one send per channel may be under way. Whatever buffers more can only wait less.
#include <algorithm>

#include "core/format.hpp"
#include "plan/schedule.hpp"

namespace galvatron::plan {
namespace {

std::string to_string(const Action& action, int64_t chunks) {
  const auto* name = action.kind == ActionKind::forward ? "forward" : "backward";
  return chunks == 1 ? core::format("{}({})", name, action.micro)
                     : core::format("{}({}, chunk {})", name, action.micro, action.chunk);
}

int64_t micros_of(const std::vector<Lane>& lanes) {
  int64_t micros = 0;
  for (const Lane& lane : lanes)
    for (const Action& action : lane) micros = std::max<int64_t>(micros, int64_t{action.micro} + 1);
  return micros;
}

/// Every micro-batch forward once, then backward once, in every chunk.
std::optional<std::string> find_lost_work(const Lane& lane, size_t rank, int64_t micros, int64_t chunks) {
  std::vector<int> forwards(static_cast<size_t>(micros * chunks)), backwards(forwards.size());
  const auto text = [&](const Action& action) { return to_string(action, chunks); };
  for (const Action& action : lane) {
    if (action.micro < 0) return core::format("rank {}: {} has no such micro-batch", rank, text(action));
    if (action.chunk < 0 || action.chunk >= chunks)
      return core::format("rank {}: {} names chunk {}, but a rank has {}", rank, text(action), action.chunk,
                          chunks);
    const auto at = static_cast<size_t>(action.chunk * micros + action.micro);
    const bool forward = action.kind == ActionKind::forward;
    if (!forward && forwards[at] == 0)
      return core::format("rank {}: {} comes before its forward", rank, text(action));
    if (++(forward ? forwards : backwards)[at] > 1)
      return core::format("rank {}: {} comes twice", rank, text(action));
  }
  for (size_t at = 0; at < forwards.size(); ++at) {
    const auto i = static_cast<int64_t>(at);
    Action missing{ActionKind::forward, static_cast<int32_t>(i % micros), static_cast<int32_t>(i / micros)};
    if (forwards[at] == 0) return core::format("rank {}: {} is missing", rank, text(missing));
    missing.kind = ActionKind::backward;
    if (backwards[at] == 0) return core::format("rank {}: {} is missing", rank, text(missing));
  }
  return std::nullopt;
}

/// All lanes played together.
class Rehearsal {
 public:
  Rehearsal(const std::vector<Lane>& lanes, int64_t chunks)
      : lanes_(lanes),
        shape_{static_cast<int64_t>(lanes.size()), 1, chunks},
        at_(lanes.size()),
        under_way_(static_cast<size_t>(2 * shape_.stages()), nothing) {}

  std::optional<std::string> run() {
    for (bool moved = true; moved;) {
      moved = false;
      for (size_t rank = 0; rank < lanes_.size(); ++rank)
        while (!fault_ && advance(rank)) moved = true;
      if (fault_) return fault_;
    }
    std::vector<std::string> stuck;
    for (size_t rank = 0; rank < lanes_.size(); ++rank)
      if (at_[rank] < lanes_[rank].size())
        stuck.push_back(
            core::format("rank {} waits at {}", rank, to_string(lanes_[rank][at_[rank]], shape_.chunks)));
    if (stuck.empty()) return std::nullopt;
    return "the lanes hang: " + core::join(stuck, ", ");
  }

 private:
  static constexpr int32_t nothing = -1;

  /// The micro-batch whose send on the channel has not completed; null for no channel.
  int32_t* channel(int64_t index) { return index < 0 ? nullptr : &under_way_[static_cast<size_t>(index)]; }

  bool advance(size_t rank) {
    if (at_[rank] == lanes_[rank].size()) return false;
    const Action action = lanes_[rank][at_[rank]];
    const auto route = route_of(action, static_cast<int64_t>(rank), shape_);
    int32_t *from = channel(route.from), *to = channel(route.to);
    if (from != nullptr && *from == nothing) return false;
    if (from != nullptr && *from != action.micro) {
      fault_ = core::format("rank {} wants {} next, but its neighbour sends micro-batch {} first", rank,
                            to_string(action, shape_.chunks), *from);
      return false;
    }
    if (to != nullptr && *to != nothing) return false;
    if (from != nullptr) *from = nothing;
    if (to != nullptr) *to = action.micro;
    ++at_[rank];
    return true;
  }

  const std::vector<Lane>& lanes_;
  PipelineShape shape_;
  std::vector<size_t> at_;
  std::vector<int32_t> under_way_;
  std::optional<std::string> fault_;
};

}  // namespace

std::optional<std::string> find_hang(const std::vector<Lane>& lanes, int64_t chunks) {
  return Rehearsal(lanes, chunks).run();
}

std::optional<std::string> find_fault(const std::vector<Lane>& lanes, int64_t chunks) {
  const int64_t micros = micros_of(lanes);
  for (size_t rank = 0; rank < lanes.size(); ++rank)
    if (auto lost = find_lost_work(lanes[rank], rank, micros, chunks)) return lost;
  return find_hang(lanes, chunks);
}

}  // namespace galvatron::plan
