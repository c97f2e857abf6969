#pragma once
// The best strategies for the layers of one stage within its memory: a multiple-choice knapsack whose scratch
// is a maximum, not a sum. Exact, in whole nanoseconds and bytes.

#include <cstdint>
#include <optional>
#include <vector>

#include "search/knapsack.hpp"

namespace galvatron::search {

/// One layer under one strategy.
struct Choice {
  int64_t time = 0;   ///< nanoseconds per step
  int64_t bytes = 0;  ///< persistent + saved in flight: they add up over layers
  int64_t work = 0;   ///< these three are shared by the layers: the largest counts
  int64_t gathered = 0;
  int64_t unreduced = 0;
  int64_t micro_time = 0;  ///< the part of `time` that comes with each micro-batch, once
  bool operator==(const Choice&) const = default;
};

/// Whether `a` is no worse than `b` in everything.
bool covers(const Choice& a, const Choice& b);

/// Equal layers.
struct LayerGroup {
  int64_t count = 0;
  std::vector<Choice> choices;
};

struct StageOptimum {
  int64_t time = 0;
  int64_t bytes = 0;                     ///< scratch included
  std::vector<std::vector<Pick>> picks;  ///< per group, by index of the choice
  bool exact = true;                     ///< false when the label limit was hit: `time` is then only feasible
};

/// Least time with Σ bytes + max work + max gathered + max unreduced ≤ budget; nothing when no choice fits.
std::optional<StageOptimum> solve_stage(const std::vector<LayerGroup>& groups, int64_t budget);

/// The choices that take the least memory, whatever their time.
StageOptimum least_memory(const std::vector<LayerGroup>& groups);

}  // namespace galvatron::search
