#pragma once
// A task at one ZeRO level of its tied table: with that fixed, the first and the last stage no longer depend
// on each other.

#include "search/task.hpp"

namespace galvatron::search {

__extension__ using Wide = __int128;

class TaskSolver::Level {
 public:
  static constexpr int32_t untied = -1;

  Level(const SearchContext& context, const Task& task, const std::vector<StageTable>& tables,
        int64_t memory_bytes, int32_t zero);

  /// The best split under the surrogate; nothing when none fits.
  std::optional<Split> split();
  /// The plan of a split with each stage at its optimum; nothing when a stage does not fit.
  std::optional<plan::Plan> plan(const std::vector<plan::StageLayers>& stages);
  /// The plan whose fullest rank takes the least memory.
  plan::Plan smallest();

  int64_t solves() const { return static_cast<int64_t>(optima_.size()); }
  bool exact() const { return exact_; }

 private:
  /// Sums over layers before each one, for bounds in constant time.
  struct Prefixes {
    std::vector<int64_t> time, bytes;
    std::vector<std::vector<Wide>> value;  ///< per multiplier
  };
  struct Multiplier {
    int64_t cost = 0, saved = 1;
  };

  std::vector<LayerGroup> groups_of(int64_t stage, int64_t first, int64_t last) const;
  const std::optional<StageOptimum>& optimum(int64_t stage, int64_t first, int64_t last);
  /// Memory for the layers of a stage that has so many.
  int64_t budget_of(int64_t stage, int64_t layers) const;
  int64_t value_of(int64_t stage, int64_t time) const;
  int64_t bound(int64_t stage, int64_t first, int64_t last) const;
  void allow_choices();
  void pick_multipliers();
  void sum_prefixes();
  int64_t least_work(int64_t stage, int64_t first, int64_t last) const;
  int64_t count_of(int64_t kind, int64_t first, int64_t last) const;
  void take(const StageOptimum& optimum, plan::StageLayers range, plan::Plan& plan) const;
  plan::Plan empty_plan() const;

  const SearchContext& context_;
  const Task& task_;
  const std::vector<StageTable>& tables_;
  int64_t memory_bytes_;
  int32_t zero_;
  std::vector<std::vector<int64_t>> allowed_;  ///< per kind: indices of the division's choices
  std::vector<std::vector<int64_t>> counts_;   ///< per kind: layers of it before each layer
  std::vector<Multiplier> multipliers_;
  std::vector<Prefixes> prefixes_;  ///< per stage
  std::vector<int64_t> same_as_;    ///< per stage: the first stage with an equal table
  std::map<std::pair<int64_t, std::vector<int64_t>>, std::optional<StageOptimum>> optima_;
  bool exact_ = true;
};

}  // namespace galvatron::search
