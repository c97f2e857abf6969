#pragma once
// One task of the outer loop: which strategies its plans may use, bounds of its candidates, and their plans
// by either objective.

#include <cstdint>
#include <optional>
#include <vector>

#include "search/galvatron3/prices.hpp"
#include "search/galvatron3/search.hpp"

namespace galvatron::search::galvatron3 {

class Task {
 public:
  /// Keeps references to its arguments but `mode` and `width`.
  Task(const Rules& rules, const SearchOptions& options, const Prices& prices, Mode mode, int64_t width);

  /// Strategies of the vocabulary that go with the task; with Grain::uniform those of layers.
  int64_t candidates() const;
  /// Seconds that no plan of a candidate can beat; infinite when none fits.
  double bound(int64_t candidate) const;
  /// By how much the leanest plan of a candidate misses the budget; negative when it fits. Nothing without
  /// layers.
  std::optional<Miss> miss(int64_t candidate) const;
  std::optional<Found> solve(int64_t candidate, Objective objective, PathStatistics& statistics) const;
  /// Grain::uniform: the candidate's strategy everywhere.
  std::optional<Found> uniform(int64_t candidate) const;

 private:
  bool allows(const Strategy& strategy) const;
  void make_between();
  void make_bounds();
  double room_mb(const PricedVocab& vocab, size_t stage) const;
  PathProblem problem_of(const PricedVocab& vocab, size_t stage, Objective objective) const;
  Found found(const PricedVocab& vocab, const std::vector<std::vector<size_t>>& picks) const;

  const Rules& rules_;
  const SearchOptions& options_;
  const Prices& prices_;
  Mode mode_;
  int64_t width_;
  double buffer_mb_ = 0;
  std::vector<const PricedLayer*> layers_;
  std::vector<const PricedVocab*> vocabs_;
  std::vector<double> published_between_, own_between_;
  std::vector<PathBound> micro_bounds_, step_bounds_;  ///< per stage: t, and (m−1)·t plus the synced layer
};

}  // namespace galvatron::search::galvatron3
