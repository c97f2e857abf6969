#pragma once
// Strategies for the equal layers of one stage where what a layer costs depends on its neighbour too: how
// many layers take which strategy, and in which order, within a memory budget. Exact, without a table over
// the memory.

#include <cstdint>
#include <optional>
#include <vector>

namespace galvatron::search::galvatron3 {

/// One layer under one strategy; units of memory are the caller's.
struct PathChoice {
  double seconds = 0;
  int64_t units = 0;
};

struct PathProblem {
  int64_t layers = 0;
  int64_t budget = 0;  ///< units
  std::vector<PathChoice> choices;
  std::vector<double>
      between;  ///< seconds from choice i to the next layer's j: [i · choices + j], none below 0
};

/// Layers in a row with one choice.
struct PathBlock {
  size_t choice = 0;
  int64_t layers = 0;
};

struct StagePath {
  double seconds = 0;
  int64_t units = 0;
  std::vector<PathBlock> blocks;
};

struct PathStatistics {
  int64_t solved = 0;      ///< problems
  int64_t labels = 0;      ///< partial plans made
  int64_t cut = 0;         ///< of those, not followed: no better than a known plan
  int64_t not_proven = 0;  ///< problems given up at a limit; their plan is only good
};

/// Least seconds (to their 13th digit) with Σ units ≤ budget among plans in which the layers of a choice
/// stand in a row; nothing when none fits. Where going from i to j never costs more than going through k,
/// other plans are no better.
std::optional<StagePath> shortest_path(const PathProblem& problem, PathStatistics& statistics);

/// The linear relaxation without `between`: no plan takes fewer seconds. Built once, asked for many budgets.
class PathBound {
 public:
  explicit PathBound(std::vector<PathChoice> choices);
  /// Infinite when nothing fits. `layers` may be 0.
  double seconds(int64_t layers, double budget) const;
  /// Seconds that a unit of memory is worth at that budget.
  double worth(int64_t layers, double budget) const;

 private:
  size_t segment(double each) const;
  std::vector<PathChoice> hull_;  ///< units ascending, seconds descending, convex
};

}  // namespace galvatron::search::galvatron3
