#pragma once
// The stages of a task at one level of its tied table: with that fixed, the first and the last stage no
// longer depend on each other. Optima are found on demand, each distinct one once.

#include <memory>

#include "search/split.hpp"
#include "search/stage_bounds.hpp"
#include "search/task_prices.hpp"

namespace galvatron::search {

class Level final : public StageValues {
 public:
  /// `memory_bytes` per rank. The prices must outlive it.
  Level(TaskPrices& prices, const TieLevel& tie, int64_t memory_bytes, PathCounts& counts);

  /// The best split worth at most `limit`; nothing when there is none.
  std::optional<Split> split(int64_t limit);
  /// The plan of a split; nothing when a stage does not fit.
  std::optional<plan::Plan> plan(const Split& split);
  /// The plan whose fullest rank takes the least memory; nothing when a kind has no option.
  std::optional<plan::Plan> smallest();
  bool exact() const { return exact_; }

  int64_t longest() const override { return longest_; }
  int64_t least(int64_t stage, int64_t first, int64_t last) const override;
  int64_t entering(int64_t stage, int64_t first, int64_t last, int32_t enters) const override;
  int64_t leaving(int64_t stage, int64_t first, int64_t last, int32_t leaves) const override;
  int64_t bound(const StageCase& one) const override;
  int64_t exact(const StageCase& one) override;

 private:
  /// What stages with equally many micro-batches in flight at like places choose from.
  struct Table {
    size_t place = 0;
    int64_t slots = 1;
    std::vector<std::vector<Option>> options;  ///< per kind
    std::unique_ptr<StageBounds> bounds;
    std::vector<char> solved;  ///< per stretch: some path of it is known
  };
  struct PathKey {
    size_t table = 0;
    int32_t stretch = 0;
    int32_t enters = any_layout, leaves = any_layout;
    int64_t budget = 0;
    auto operator<=>(const PathKey&) const = default;
  };

  PathKey key_of(const StageCase& one, int64_t budget) const;
  void make_tables(const TieLevel& tie);
  const Table& table_of(int64_t stage) const { return tables_[table_of_[static_cast<size_t>(stage)]]; }
  int64_t budget_of(const StageCase& one) const;
  int64_t fixed_time(const StageCase& one) const;
  int64_t value_of(const StageCase& one, int64_t time) const;
  const std::optional<Path>& path_of(const StageCase& one);
  std::optional<Path> solve(const StageCase& one, int64_t budget);
  PathProblem problem_of(const StageCase& one, int64_t budget) const;
  template <typename Look>
  int64_t bounded(int64_t stage, int64_t first, int64_t last, Look look) const;
  bool possible() const;
  std::vector<int64_t> fastest_before() const;
  int64_t first_limit();
  int64_t longest_within(int64_t limit) const;
  int64_t chain(const std::vector<plan::StageLayers>& stages);
  SplitProblem split_problem() const;

  TaskPrices& prices_;
  const std::vector<int64_t>& kinds_;  ///< of every layer
  int64_t stages_, micros_, memory_bytes_;
  PathCounts& counts_;
  Stretches stretches_;
  std::vector<Table> tables_;
  std::vector<size_t> table_of_;  ///< per stage
  int64_t least_boundary_ = 0, most_boundary_ = 0;
  std::map<PathKey, std::optional<Path>> paths_;
  int64_t longest_ = 0;           ///< stretch that has bounds
  std::vector<int64_t> fastest_;  ///< per kind: least time of any option
  bool exact_ = true;
};

/// Puts the picks of a path into the plan.
void take(const Path& path, const std::vector<std::vector<Option>>& options, int64_t first, int64_t last,
          const TaskPrices& prices, plan::Plan& plan);

}  // namespace galvatron::search
