// Prices the choices of one task and puts its pieces together: stage optimum, split, simulation, polish.
#include "search/task.hpp"

#include <algorithm>
#include <cmath>
#include <set>

#include "core/errors.hpp"
#include "plan/lowering.hpp"
#include "search/level.hpp"
#include "spec/token_layout.hpp"

namespace galvatron::search {
namespace {

using program::Phase;

int64_t nanoseconds(double seconds) {
  return std::llround(seconds * 1e9);
}

constexpr int64_t no_limit = int64_t{1} << 60;

}  // namespace

bool faster(int64_t a_ns, int64_t a_batch, int64_t b_ns, int64_t b_batch) {
  return static_cast<long double>(a_ns) * static_cast<long double>(b_batch) <
         static_cast<long double>(b_ns) * static_cast<long double>(a_batch);
}

program::LayerContext context_of(const spec::ModelSpec& model, const spec::LayerSpec& layer,
                                 const spec::LayerStrategy& strategy, const Task& task, core::DType dtype) {
  program::LayerContext context;
  context.strategy = strategy;
  context.samples = spec::TokenLayout{task.batch / task.micros, model.seq, strategy}.samples_of(0).size();
  context.dtype = dtype;
  context.loss_scale = 1.0 / (static_cast<double>(task.batch) * static_cast<double>(model.seq));
  if (model.tied() && (layer.kind == "embedding" || layer.kind == "head"))
    context.tie =
        task.division->stages == 1 ? program::TieScope::same_stage : program::TieScope::across_stages;
  return context;
}

TaskSolver::~TaskSolver() = default;

TaskSolver::TaskSolver(const SearchContext& context, const Task& task, int64_t memory_bytes)
    : context_(context), task_(task), memory_bytes_(memory_bytes > 0 ? memory_bytes : no_limit) {
  fill_tables();
  find_levels();
}

void TaskSolver::fill_tables() {
  const Division& division = *task_.division;
  const auto lanes = plan::make_schedule(task_.schedule, {division.stages, task_.micros});
  const int64_t samples = task_.batch / task_.micros, ranks = division.degrees.ranks();
  const int64_t activation =
      cost::activation_bytes(context_.model, division.degrees, samples, context_.options.dtype);
  std::vector<int64_t> least_step(static_cast<size_t>(context_.kinds.size()), unreachable);
  auto least_micro = least_step;
  for (int64_t stage = 0; stage < division.stages; ++stage) {
    StageTable table;
    table.slots = plan::in_flight(lanes[static_cast<size_t>(stage)]);
    for (int64_t layers = 0; layers <= context_.model.size(); ++layers) {
      plan::ArenaLayout arena;
      for (int64_t index = 0; index < std::min<int64_t>(layers - 1, 2); ++index)
        plan::account_flow(arena, index, activation);
      for (const bool crosses : {stage > 0, stage + 1 < division.stages})
        if (crosses) plan::account_boundary(arena, activation);
      table.fixed_bytes.push_back(arena.total() + context_.pricer.model().reserve_bytes());
    }
    for (const int64_t from : {stage - 1, stage})
      if (from >= 0 && from + 1 < division.stages)
        table.fixed_time += task_.micros * nanoseconds(cost::boundary_seconds(context_.pricer, from, from + 1,
                                                                              ranks, activation));
    tables_.push_back(std::move(table));
    for (int64_t kind = 0; kind < context_.kinds.size(); ++kind) {
      const auto k = static_cast<size_t>(kind);
      auto& choices = tables_.back().choices.emplace_back();
      for (const auto& strategy : division.choices[k]) {
        choices.push_back(choice_of(kind, strategy, stage));
        least_step[k] = std::min(least_step[k], choices.back().time);
        least_micro[k] = std::min(least_micro[k], choices.back().micro_time);
      }
    }
  }
  for (const int64_t kind : context_.kinds.of_layer) {
    step_ns_ += least_step[static_cast<size_t>(kind)];
    micro_ns_ += least_micro[static_cast<size_t>(kind)];
  }
}

Choice TaskSolver::choice_of(int64_t kind, const spec::LayerStrategy& strategy, int64_t stage) {
  const Division& division = *task_.division;
  const auto& spec = context_.kinds.specs[static_cast<size_t>(kind)];
  const auto layer = context_of(context_.model, spec, strategy, task_, context_.options.dtype);
  cost::StagePlace place{stage * strategy.ranks(), 0};
  const int64_t distance = (division.stages - 1) * strategy.ranks();
  if (layer.tie == program::TieScope::across_stages) {
    // The holders of a tied table are on the first and the last stage, whichever stage the table asks for.
    const bool first = spec.kind == "embedding";
    place = {first ? 0 : distance, first ? distance : -distance};
  }
  const auto& price = context_.pricer.price(spec, layer, place);
  Choice choice;
  choice.micro_time =
      nanoseconds(price.seconds(program::forward_phases) + price.seconds(program::backward_phases));
  choice.time = task_.micros * choice.micro_time +
                nanoseconds(price.seconds(Phase::sync) + price.seconds(Phase::gradient_norm) +
                            price.seconds(Phase::update));
  choice.bytes = price.memory.persistent_bytes() + tables_.back().slots * price.memory.saved_bytes;
  choice.work = price.memory.work_bytes;
  // Two layers take turns at two buffers; twice the largest is enough whichever layers meet.
  choice.gathered = 2 * price.memory.gathered_bytes;
  choice.unreduced = 2 * price.memory.unreduced_bytes;
  return choice;
}

/// A tied table has one ZeRO level for both its layers, and at most 1 on two stages.
void TaskSolver::find_levels() {
  if (!context_.model.tied()) {
    levels_ = {Level::untied};
    return;
  }
  std::set<int32_t> levels;
  for (const auto& strategy : task_.division->choices[static_cast<size_t>(context_.kinds.of_layer.front())])
    if (task_.division->stages == 1 || strategy.zero <= 1) levels.insert(strategy.zero);
  levels_.assign(levels.begin(), levels.end());
}

int64_t TaskSolver::dominated() const {
  int64_t count = 0;
  for (const auto& choices : tables_.front().choices)
    for (size_t i = 0; i < choices.size(); ++i)
      for (size_t j = 0; j < choices.size(); ++j)
        if (i != j && covers(choices[j], choices[i]) && (j < i || !covers(choices[i], choices[j]))) {
          ++count;
          break;
        }
  return count;
}

/// A step lasts at least its stages' mean work. The first micro-batch also passes all stages before the last
/// one starts: the least v with t_s ≤ (v − Σ_{j<s} t_j) / m for all stages is T / (1 − (1 − 1/m)^P).
int64_t TaskSolver::lower_bound() const {
  const auto stages = static_cast<double>(task_.division->stages), micros = static_cast<double>(task_.micros);
  const double mean = static_cast<double>(step_ns_) / stages;
  const double filled = static_cast<double>(micro_ns_) / (1 - std::pow(1 - 1 / micros, stages));
  // Times were rounded layer by layer.
  const double rounding = static_cast<double>(context_.model.size()) * (micros + 1);
  return std::max<int64_t>(0, static_cast<int64_t>(std::max(mean, filled) * (1 - 1e-12) - rounding));
}

Candidate TaskSolver::priced(const plan::Plan& plan) const {
  const auto price = cost::price_plan(plan, context_.model, context_.options.dtype, context_.pricer);
  Candidate candidate;
  candidate.plan = cost::with_predictions(plan, price, context_.profile);
  candidate.step_ns = nanoseconds(price.step_seconds);
  candidate.memory_bytes = price.memory_bytes();
  return candidate;
}

std::optional<Candidate> TaskSolver::solve() {
  std::optional<Candidate> best;
  for (const int32_t zero : levels_) {
    Level level(context_, task_, tables_, memory_bytes_, zero);
    const auto split = level.split();
    std::optional<Candidate> candidate;
    if (split) candidate = polished(level, *split);
    stage_solves_ += level.solves();
    if (candidate && (!best || candidate->step_ns < best->step_ns)) best = candidate;
  }
  return best;
}

/// The simulator has the last word: neighbours of the split are tried as long as they are faster in it; then
/// the same plan as GPipe, where that is offered and fits.
std::optional<Candidate> TaskSolver::polished(Level& level, const Split& split) {
  auto stages = split.stages;
  Candidate best = priced(*level.plan(stages));
  GALV_ASSERT(best.memory_bytes <= memory_bytes_, best.memory_bytes, memory_bytes_);
  for (bool improved = true; improved;) {
    improved = false;
    for (size_t s = 0; s + 1 < stages.size(); ++s)
      for (const int64_t shift : {-1, 1}) {
        auto moved = stages;
        moved[s].last += shift;
        moved[s + 1].first += shift;
        if (moved[s].size() < 1 || moved[s + 1].size() < 1) continue;
        const auto plan = level.plan(moved);
        if (!plan) continue;
        Candidate candidate = priced(*plan);
        if (candidate.step_ns >= best.step_ns) continue;
        best = std::move(candidate);
        stages = moved;
        improved = true;
      }
  }
  best.exact = level.exact();
  const auto& schedules = context_.options.schedules;
  const auto gpipe = plan::ScheduleKind::gpipe;
  if (best.plan.schedule == gpipe || std::find(schedules.begin(), schedules.end(), gpipe) == schedules.end())
    return best;
  plan::Plan replay = best.plan;
  replay.schedule = gpipe;
  Candidate candidate = priced(replay);
  candidate.exact = best.exact;
  return candidate.memory_bytes <= memory_bytes_ && candidate.step_ns < best.step_ns ? candidate : best;
}

Candidate TaskSolver::smallest() {
  std::optional<Candidate> best;
  for (const int32_t zero : levels_) {
    Level level(context_, task_, tables_, memory_bytes_, zero);
    Candidate candidate = priced(level.smallest());
    if (!best || candidate.memory_bytes < best->memory_bytes) best = std::move(candidate);
  }
  GALV_ASSERT(best.has_value(), levels_.size());
  return *best;
}

}  // namespace galvatron::search
