#pragma once
// Which layers go to which stage and in which layout activations leave it: least Σ u + (micros − 1) · max u
// over contiguous splits, where a stage's value u is dear to compute and cheap to bound.

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "plan/plan.hpp"
#include "search/path.hpp"

namespace galvatron::search {

struct SplitProblem {
  int64_t stages = 1, layers = 1, micros = 1;
  int32_t layouts = 1;
};

/// What a split is worth whose stages' values have such a sum and such a largest one.
inline int64_t worth_of(int64_t sum, int64_t largest, int64_t micros) {
  return sum + (micros - 1) * largest;
}

/// One stage: what it holds, the layout of what comes in (any for the first) and of what leaves (any for the
/// last).
struct StageCase {
  int64_t stage = 0, first = 0, last = 0;
  int32_t enters = any_layout, leaves = any_layout;
  auto operator<=>(const StageCase&) const = default;
};

/// Nanoseconds of stages; `unreachable` for one that nothing makes fit.
class StageValues {
 public:
  virtual ~StageValues() = default;
  /// Stages of more layers than this are unreachable.
  virtual int64_t longest() const { return unreachable; }
  /// Not above any bound of these layers on this stage.
  virtual int64_t least(int64_t stage, int64_t first, int64_t last) const = 0;
  /// Not above any bound of them with this layout before the stage, or at its end.
  virtual int64_t entering(int64_t stage, int64_t first, int64_t last, int32_t) const {
    return least(stage, first, last);
  }
  virtual int64_t leaving(int64_t stage, int64_t first, int64_t last, int32_t) const {
    return least(stage, first, last);
  }
  /// Never above the exact value.
  virtual int64_t bound(const StageCase& one) const = 0;
  virtual int64_t exact(const StageCase& one) = 0;
};

struct Split {
  std::vector<plan::StageLayers> stages;
  std::vector<int32_t> leaves;  ///< per stage
  int64_t value = 0;
  int64_t solved = 0;  ///< exact values that were asked for

  StageCase stage(size_t index) const;
};

/// Of splits worth at most `limit`. Exact values are asked for only in splits that are optimal under what is
/// known so far, each at most once. Nothing when there is no such split.
std::optional<Split> best_split(const SplitProblem& problem, StageValues& values,
                                int64_t limit = unreachable);

/// Nanoseconds, or bytes, of a stage whatever its layouts.
using StageValue = std::function<int64_t(int64_t stage, int64_t first, int64_t last)>;

/// Whether a stage of more layers, on either side, is never worth less.
enum class Growth { any, monotone };

/// The split whose largest value is least. Values must be reachable; of monotone ones fewer are asked for.
std::vector<plan::StageLayers> flattest_split(const SplitProblem& problem, const StageValue& value,
                                              Growth growth = Growth::any);

/// The least that the largest value of a split can be, of monotone values: looked for between 0 and `most`,
/// which is the answer too where nothing is below it.
int64_t flattest_worth(const SplitProblem& problem, const StageValue& value, int64_t most);

}  // namespace galvatron::search
