#pragma once
// The best strategies for the layers of one pipeline rank within its memory: a shortest path over the layers,
// whose state is the layout of the activations, with a budget of bytes and a scratch that is a maximum, not a
// sum. Exact, in whole nanoseconds and bytes.

#include <array>
#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <vector>

namespace galvatron::search {

/// A value that nothing can have.
inline constexpr int64_t unreachable = std::numeric_limits<int64_t>::max();
inline constexpr int32_t any_layout = -1;

/// Bytes that layers share: the largest of each kind counts.
enum Scratch : uint8_t { work, gathered, unreduced, flow, scratch_kinds };
using ScratchBytes = std::array<int64_t, scratch_kinds>;

/// One layer under one strategy.
struct Option {
  int32_t layout = 0;      ///< its (dp, cp), by number
  int32_t choice = 0;      ///< the caller's number for it
  int64_t time = 0;        ///< nanoseconds per step
  int64_t bytes = 0;       ///< persistent + saved in flight: they add up over layers
  ScratchBytes scratch{};  ///< flow: of one activation
};

/// Whether `a` may stand for `b` anywhere: same layout, no worse in everything.
bool covers(const Option& a, const Option& b);
/// Leaves out options that another one covers; of equal ones the first is kept. Sorted by layout.
void keep_uncovered(std::vector<Option>& options);

/// From one layout to another.
struct Way {
  int64_t time = 0;  ///< nanoseconds per step
  int64_t work = 0;  ///< bytes
  bool operator==(const Way&) const = default;
};

/// All ways between so many layouts. Exact prices are dear, so they are asked for when a path really takes
/// the way; until then a floor that never exceeds them does.
class Ways {
 public:
  using Price = std::function<Way(int32_t from, int32_t to)>;
  Ways(int32_t layouts, const Price& floor, Price exact);

  int32_t layouts() const { return layouts_; }
  int64_t floor(int32_t from, int32_t to) const { return floors_[index(from, to)]; }
  const Way& exact(int32_t from, int32_t to);
  /// Bytes of work, as far as they are known.
  int64_t known_work(int32_t from, int32_t to) const {
    const auto& known = known_[index(from, to)];
    return known ? known->work : 0;
  }

 private:
  size_t index(int32_t from, int32_t to) const { return static_cast<size_t>(from * layouts_ + to); }

  int32_t layouts_;
  std::vector<int64_t> floors_;
  Price price_;
  std::vector<std::optional<Way>> known_;
};

struct PathLayer {
  const std::vector<Option>* options = nullptr;
  int32_t leaves = any_layout;  ///< the only layout allowed here, e.g. where a message leaves the rank
};

struct PathProblem {
  std::vector<PathLayer> layers;
  int32_t enters = any_layout;  ///< layout before the first layer; any: there is nothing to convert
  int64_t budget = 0;
  int32_t flows = 2;  ///< activations between layers that are there at once
};

struct Path {
  int64_t time = 0;
  int64_t bytes = 0;           ///< scratch included
  std::vector<int32_t> picks;  ///< per layer, index of its option
  bool exact = true;           ///< false when the label limit was hit: `time` is then only feasible
  int64_t floor = 0;           ///< no path takes less time; equals `time` when exact
};

/// What a search did, for reports and benches.
struct PathCounts {
  int64_t problems = 0, boxes = 0, sweeps = 0, labels = 0, cut = 0;
};

/// Least time within the budget, of paths that take less than `limit`; nothing when there is none. At most
/// `label_limit` labels for one problem.
std::optional<Path> best_path(const PathProblem& problem, Ways& ways, PathCounts& counts,
                              int64_t limit = unreachable, int64_t label_limit = 1'000'000);

/// The path that takes the least memory, whatever its time; nothing when a layer has no option.
std::optional<Path> lightest_path(const PathProblem& problem, Ways& ways);

}  // namespace galvatron::search
