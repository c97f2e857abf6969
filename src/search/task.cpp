// Prices the choices of one task and puts its pieces together: split, stages, simulation, polish.
#include "search/task.hpp"

#include <algorithm>
#include <cmath>

#include "core/errors.hpp"
#include "cost/group_reserve.hpp"
#include "search/interleaved.hpp"
#include "search/level.hpp"
#include "search/price_bound.hpp"
#include "spec/token_layout.hpp"

namespace galvatron::search {
namespace {

using program::Phase;

constexpr int64_t no_limit = int64_t{1} << 60;

}  // namespace

int64_t nanoseconds(double seconds) {
  return std::llround(seconds * 1e9);
}

bool faster(int64_t a_ns, int64_t a_batch, int64_t b_ns, int64_t b_batch) {
  return static_cast<long double>(a_ns) * static_cast<long double>(b_batch) <
         static_cast<long double>(b_ns) * static_cast<long double>(a_batch);
}

program::LayerContext context_of(const spec::ModelSpec& model, const spec::LayerSpec& layer,
                                 const spec::LayerStrategy& strategy, const Task& task, core::DType dtype) {
  program::LayerContext context;
  context.strategy = strategy;
  context.samples = spec::TokenLayout{task.samples(), model.seq, strategy}.samples_of(0).size();
  context.dtype = dtype;
  context.loss_scale = 1.0 / (static_cast<double>(task.batch) * static_cast<double>(model.seq));
  if (model.tied() && (layer.kind == "embedding" || layer.kind == "head"))
    context.tie = task.pool->stages == 1 ? program::TieScope::same_stage : program::TieScope::across_stages;
  return context;
}

std::vector<int64_t> slots_of(const Task& task) {
  std::vector<int64_t> slots;
  for (int64_t rank = 0; rank < task.pool->stages; ++rank)
    slots.push_back(plan::in_flight(task.schedule, task.pipeline(), rank));
  return slots;
}

plan::Plan empty_plan(const SearchContext& context, const Task& task) {
  plan::Plan plan;
  plan.world = task.pool->stages * task.pool->ranks;
  plan.batch = task.batch;
  plan.microbatches = task.micros;
  plan.schedule = task.schedule;
  plan.virtual_stages = task.chunks;
  plan.placement = task.placement;
  plan.layers.resize(static_cast<size_t>(context.model.size()));
  plan.model_fingerprint = context.fingerprint;
  return plan;
}

Candidate priced(const SearchContext& context, plan::Plan plan, const cost::PriceLimits& limits) {
  plan.forms =
      cost::forms_of(plan, context.model, context.profile.hardware.forms, context.pricer.model().cluster());
  const auto price = cost::price_plan(plan, context.model, context.options.dtype, context.pricer, limits);
  Candidate candidate;
  candidate.plan = cost::with_predictions(std::move(plan), price, context.profile);
  candidate.step_ns = nanoseconds(price.step_seconds);
  candidate.memory_bytes = price.memory_bytes();
  return candidate;
}

/// What a solved task keeps for its polish.
struct TaskSolver::Solution {
  std::unique_ptr<Level> level;  ///< of the tied table: the one with the best split
  Split split;
  std::optional<Candidate> best;
};

TaskSolver::~TaskSolver() = default;

TaskSolver::TaskSolver(const SearchContext& context, const Task& task, int64_t memory_bytes)
    : context_(context),
      task_(task),
      memory_bytes_(memory_bytes > 0 ? memory_bytes : no_limit),
      solution_(std::make_unique<Solution>()) {}

TaskSolver::TaskSolver(const TaskSolver& other, int64_t memory_bytes)
    : TaskSolver(other.context_, other.task_, memory_bytes) {
  prices_ = other.prices_;
}

TaskPrices& TaskSolver::prices() {
  if (!prices_) prices_ = std::make_shared<TaskPrices>(context_, task_);
  return *prices_;
}

/// The bound of a step is one of a split's value, which counts every stage besides the slowest in full.
const std::vector<std::pair<int64_t, TieLevel>>& TaskSolver::bounded_levels() {
  if (!levels_.empty()) return levels_;
  const int64_t layers = room() - context_.pricer.model().reserve_bytes();
  for (const TieLevel& tie : prices().levels())
    levels_.emplace_back(PriceBound(prices(), tie, layers).bound(), tie);
  std::stable_sort(levels_.begin(), levels_.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  return levels_;
}

int64_t TaskSolver::room() const {
  return memory_bytes_ -
         cost::least_group_reserve(context_.pricer.model().reserve_units(), task_.pool->ranks);
}

int64_t TaskSolver::bound() {
  if (task_.chunks > 1) return task_.bound;
  const auto& levels = bounded_levels();
  return levels.empty() ? unreachable : std::max(levels.front().first, task_.bound);
}

/// Each round leaves as much room as the last answer's groups were short of, so that the answer fits; it is
/// the proven optimum when the first one does. Rounds leave more and more, so there are few of them.
std::optional<Candidate> TaskSolver::solve() {
  int64_t left = room();
  for (int round = 0;; ++round) {
    auto found = solve_within(left);
    if (!found && round > 0) found = smallest_that_fits();
    if (!found) return std::nullopt;
    const int64_t excess = found->memory_bytes - memory_bytes_;
    found->exact = found->exact && round == 0;
    if (excess <= 0) return solution_->best = std::move(found);
    left -= excess << round;
    *solution_ = {};
  }
}

/// Less room than there is was too little: what needs least may fit all the same.
std::optional<Candidate> TaskSolver::smallest_that_fits() {
  auto least = smallest();
  if (least && least->memory_bytes > memory_bytes_) least.reset();
  return least;
}

std::optional<Candidate> TaskSolver::solve_within(int64_t room) {
  if (task_.chunks > 1) {
    const auto plan = best_interleaved(prices(), room, counts_);
    if (!plan) return std::nullopt;
    return priced(context_, *plan);
  }
  int64_t limit = unreachable;
  std::vector<std::pair<int64_t, TieLevel>> alone;  // is split whatever its bound
  if (const auto ties = prices().levels(); levels_.empty() && ties.size() == 1)
    alone.emplace_back(0, ties.front());
  for (const auto& [bound, tie] : alone.empty() ? bounded_levels() : alone) {
    if (bound >= limit) break;
    auto level = std::make_unique<Level>(prices(), tie, room, counts_);
    const auto split = level->split(limit);
    if (!split || split->value >= limit) continue;
    limit = split->value;
    solution_->split = *split;
    solution_->level = std::move(level);
  }
  if (!solution_->level) return std::nullopt;
  Candidate best = priced(context_, *solution_->level->plan(solution_->split));
  best.exact = solution_->level->exact();
  return best;
}

/// The simulator has the last word: neighbours of the split are tried as long as they are faster in it; then
/// the same plan as GPipe, where that is offered and fits.
Candidate TaskSolver::polished() {
  if (!solution_->best) solve();  // another attempt solved it
  GALV_ASSERT(solution_->best.has_value(), task_.micros);
  Candidate best = *solution_->best;
  if (task_.chunks > 1 || !solution_->level) return best;
  Split split = solution_->split;
  for (bool improved = true; improved;) {
    improved = false;
    for (size_t s = 0; s + 1 < split.stages.size(); ++s)
      for (const int64_t shift : {-1, 1}) {
        Split moved = split;
        moved.stages[s].last += shift;
        moved.stages[s + 1].first += shift;
        if (moved.stages[s].size() < 1 || moved.stages[s + 1].size() < 1) continue;
        const auto plan = solution_->level->plan(moved);
        if (!plan) continue;
        const double so_far = static_cast<double>(best.step_ns) * 1e-9;
        Candidate candidate = priced(context_, *plan, {memory_bytes_, so_far});
        if (candidate.step_ns >= best.step_ns || candidate.memory_bytes > memory_bytes_) continue;
        candidate.exact = best.exact;
        best = std::move(candidate);
        split = moved;
        improved = true;
      }
  }
  const auto gpipe = plan::ScheduleKind::gpipe;
  if (task_.schedule == gpipe || !context_.options.offers(gpipe)) return best;
  plan::Plan replay = best.plan;
  replay.schedule = gpipe;
  Candidate candidate = priced(context_, std::move(replay));
  candidate.exact = best.exact;
  return candidate.memory_bytes <= memory_bytes_ && candidate.step_ns < best.step_ns ? candidate : best;
}

std::optional<Candidate> TaskSolver::smallest() {
  std::optional<Candidate> best;
  if (task_.chunks > 1) return best;
  for (const TieLevel& tie : prices().levels()) {
    const auto plan = Level(prices(), tie, room(), counts_).smallest();
    if (!plan) continue;
    Candidate candidate = priced(context_, *plan);
    if (!best || candidate.memory_bytes < best->memory_bytes) best = std::move(candidate);
  }
  return best;
}

int64_t TaskSolver::dominated() const {
  if (!prices_) return 0;
  int64_t count = 0;
  for (int64_t kind = 0; kind < context_.kinds.size(); ++kind)
    count += static_cast<int64_t>(prices_->choices(0, kind).size()) -
             static_cast<int64_t>(prices_->options(0, kind, 1, {}).size());
  return count;
}

}  // namespace galvatron::search
