#pragma once
// One task of the search: batch, micro-batches, division of the ranks and schedule are given; stages and
// strategies are chosen.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "cost/plan_price.hpp"
#include "search/space.hpp"
#include "search/split.hpp"
#include "search/stage_optimum.hpp"

namespace galvatron::search {

/// Everything that tasks share. What it points to must outlive it.
struct SearchContext {
  const spec::ModelSpec& model;
  const Kinds& kinds;
  const SearchOptions& options;
  const cost::Profile& profile;
  cost::LayerPricer& pricer;
  std::string fingerprint;  ///< of the model
};

struct Task {
  int64_t batch = 1, micros = 1;
  const Division* division = nullptr;
  plan::ScheduleKind schedule = plan::ScheduleKind::one_f_one_b;
  int64_t bound = 0;  ///< no plan of this task takes fewer nanoseconds per step
};

/// A plan with its predictions in it, and what it is judged by.
struct Candidate {
  plan::Plan plan;
  int64_t step_ns = 0;
  int64_t memory_bytes = 0;  ///< of the fullest rank
  bool exact = true;         ///< the surrogate's optimum was proven
};

/// Whether a takes less time per sample than b, exactly.
bool faster(int64_t a_ns, int64_t a_batch, int64_t b_ns, int64_t b_batch);

/// How a layer of the task is lowered on a stage's first rank.
program::LayerContext context_of(const spec::ModelSpec& model, const spec::LayerSpec& layer,
                                 const spec::LayerStrategy& strategy, const Task& task, core::DType dtype);

/// What one stage of a task may choose from.
struct StageTable {
  int64_t slots = 1;       ///< micro-batches in flight
  int64_t fixed_time = 0;  ///< nanoseconds per step that do not depend on the layers: what it receives
  std::vector<int64_t> fixed_bytes;  ///< likewise, by number of layers on the stage; entry 0 is unused
  std::vector<std::vector<Choice>> choices;  ///< per kind, in the order of Division::choices
};

class TaskSolver {
 public:
  /// Prices every choice of the division. `memory_bytes` per rank; 0 = unlimited.
  TaskSolver(const SearchContext& context, const Task& task, int64_t memory_bytes);
  ~TaskSolver();

  /// ZeRO levels that a tied embedding and head may share; a single level for models without a tie.
  bool possible() const { return !levels_.empty(); }
  int64_t lower_bound() const;
  /// The best plan within memory, simulated; nothing when none fits.
  std::optional<Candidate> solve();
  /// The plan that needs the least memory on its fullest rank, whether that fits or not.
  Candidate smallest();
  int64_t stage_solves() const { return stage_solves_; }
  /// Choices that another one of their kind covers in time and in every sort of bytes.
  int64_t dominated() const;

 private:
  class Level;
  void fill_tables();
  Choice choice_of(int64_t kind, const spec::LayerStrategy& strategy, int64_t stage);
  void find_levels();
  std::optional<Candidate> polished(Level& level, const Split& split);
  Candidate priced(const plan::Plan& plan) const;

  const SearchContext& context_;
  Task task_;
  int64_t memory_bytes_;
  std::vector<StageTable> tables_;  ///< per stage
  int64_t micro_ns_ = 0;            ///< Σ over layers of the least time per micro-batch
  int64_t step_ns_ = 0;             ///< Σ over layers of the least time per step
  std::vector<int32_t> levels_;
  int64_t stage_solves_ = 0;
};

}  // namespace galvatron::search
