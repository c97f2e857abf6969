#pragma once
// Which layers go to which stage: least Σ u + (micros − 1) · max u over contiguous splits, where a stage's
// value u is dear to compute and cheap to bound.

#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <vector>

#include "plan/plan.hpp"

namespace galvatron::search {

/// A stage that no choice of strategies makes fit.
inline constexpr int64_t unreachable = std::numeric_limits<int64_t>::max();

/// Nanoseconds of stage `stage` when it holds layers first … last; `unreachable` when it cannot.
using StageValue = std::function<int64_t(int64_t stage, int64_t first, int64_t last)>;

struct SplitProblem {
  int64_t stages = 1, layers = 1, micros = 1;
};

struct Split {
  std::vector<plan::StageLayers> stages;
  int64_t value = 0;
  int64_t solved = 0;  ///< stages whose exact value was asked for
};

/// `bound` must never exceed `exact`. Exact values are asked for only in splits that are optimal under what
/// is known so far, each at most once. Nothing when no split is reachable.
std::optional<Split> best_split(const SplitProblem& problem, const StageValue& bound,
                                const StageValue& exact);

/// The split whose largest stage value is least: for memory. Values must be reachable.
Split flattest_split(const SplitProblem& problem, const StageValue& value);

}  // namespace galvatron::search
