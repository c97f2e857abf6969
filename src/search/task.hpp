#pragma once
// One task of the search: batch, micro-batches, number of stages and schedule are given; what each stage
// holds and how each layer is split are chosen.

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cost/plan_price.hpp"
#include "search/path.hpp"
#include "search/space.hpp"

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
  const Pool* pool = nullptr;
  plan::ScheduleKind schedule = plan::ScheduleKind::one_f_one_b;
  int64_t chunks = 1;  ///< stages on each pipeline rank
  plan::Placement placement = plan::Placement::stage_major;
  int64_t bound = 0;  ///< no plan of this task takes fewer nanoseconds per step

  int64_t samples() const { return batch / micros; }
  plan::PipelineShape pipeline() const { return {pool->stages, micros, chunks}; }
  plan::StageRanks ranks() const { return {placement, pool->stages, pool->ranks}; }
};

/// Micro-batches in flight on each pipeline rank of a task with one chunk.
std::vector<int64_t> slots_of(const Task& task);

/// A plan with its predictions in it, and what it is judged by.
struct Candidate {
  plan::Plan plan;
  int64_t step_ns = 0;
  int64_t memory_bytes = 0;  ///< of the fullest rank
  bool exact = true;         ///< the surrogate's optimum was proven
};

/// Whether a takes less time per sample than b, exactly.
bool faster(int64_t a_ns, int64_t a_batch, int64_t b_ns, int64_t b_batch);

/// Whole nanoseconds.
int64_t nanoseconds(double seconds);

/// How a layer of the task is lowered on a stage's first rank.
program::LayerContext context_of(const spec::ModelSpec& model, const spec::LayerSpec& layer,
                                 const spec::LayerStrategy& strategy, const Task& task, core::DType dtype);

/// A plan without layers' strategies.
plan::Plan empty_plan(const SearchContext& context, const Task& task);

/// The plan with its predictions. Beyond a limit its time is a bound.
Candidate priced(const SearchContext& context, plan::Plan plan, const cost::PriceLimits& limits = {});

/// A lower bound on the nanoseconds of a step: what the layers compute and exchange inside a micro-batch,
/// each at its fastest, without gradients' and parameters' traffic and without regard to memory. Needs few
/// Programs, which tasks of equal samples per rank share.
int64_t quick_bound(const SearchContext& context, const Task& task);
/// Likewise when all layers have one strategy.
int64_t quick_bound(const SearchContext& context, const Task& task, const spec::LayerStrategy& strategy);

/// Parameters, gradients and moments of a layer on one rank, whatever the micro-batch. 0 for a tied table,
/// which is stored once or twice, depending on the stages.
int64_t held_bytes(const SearchContext& context, const Task& task, const spec::LayerSpec& spec,
                   const spec::LayerStrategy& strategy);

/// A lower bound on the bytes of the fullest rank: parameters, gradients and moments, each layer at its
/// smallest. Needs few Programs.
int64_t least_bytes(const SearchContext& context, const Task& task);

class TaskPrices;
struct TieLevel;

class TaskSolver {
 public:
  /// `memory_bytes` per rank; 0 = unlimited.
  TaskSolver(const SearchContext& context, const Task& task, int64_t memory_bytes);
  /// The same task within other memory: its prices are shared.
  TaskSolver(const TaskSolver& other, int64_t memory_bytes);
  ~TaskSolver();

  /// No plan within memory takes fewer nanoseconds per step: the task's own bound or a better one, from the
  /// prices of all its choices. `unreachable` when nothing fits.
  int64_t bound();
  /// The best plan within memory under the surrogate, simulated; nothing when none fits.
  std::optional<Candidate> solve();
  /// Neighbours of the solved plan are tried as long as they are faster in the simulator.
  Candidate polished();
  /// The plan that needs the least memory on its fullest rank, whether that fits or not. Nothing when a tied
  /// embedding and head have no strategy in common.
  std::optional<Candidate> smallest();

  const PathCounts& counts() const { return counts_; }
  /// Options that another one of their kind and layout covers in time and in every sort of bytes.
  int64_t dominated() const;

 private:
  struct Solution;
  TaskPrices& prices();
  /// Levels of the tied table, best bound first. The bounds hold within less memory too, so they are found
  /// once.
  const std::vector<std::pair<int64_t, TieLevel>>& bounded_levels();
  /// Memory less what the groups of any plan of the task hold.
  int64_t room() const;
  /// The best plan whose arena and reserve fit into `room`: what groups hold is known only of a whole plan.
  std::optional<Candidate> solve_within(int64_t room);
  std::optional<Candidate> smallest_that_fits();

  const SearchContext& context_;
  Task task_;
  int64_t memory_bytes_;
  std::shared_ptr<TaskPrices> prices_;                // shared: solvers of one task within different memory
  std::vector<std::pair<int64_t, TieLevel>> levels_;  ///< once they are bounded
  std::unique_ptr<Solution> solution_;
  PathCounts counts_;
};

}  // namespace galvatron::search
