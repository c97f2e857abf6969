// Fills in what a uniform plan leaves open and refuses what cannot be played, with all reasons at once.
#include "plan/by_hand.hpp"

#include <algorithm>
#include <numeric>

#include "core/errors.hpp"
#include "core/format.hpp"
#include "deck/sections.hpp"
#include "program/lower.hpp"

namespace galvatron::plan {
namespace {

using core::format;

/// Sizes of `parts` nearly equal parts of `count`, the larger ones first.
std::vector<int64_t> even_sizes(int64_t count, int64_t parts) {
  std::vector<int64_t> sizes(static_cast<size_t>(parts), count / parts);
  for (int64_t i = 0; i < count % parts; ++i) ++sizes[static_cast<size_t>(i)];
  return sizes;
}

std::vector<StageLayers> stages_of_sizes(const std::vector<int64_t>& sizes) {
  std::vector<StageLayers> stages;
  int64_t next = 0;
  for (const int64_t size : sizes) {
    stages.push_back({next, next + size - 1});
    next += size;
  }
  return stages;
}

/// Most micro-batches up to four per stage: enough to keep the bubble small, few enough to keep them large.
int64_t default_microbatches(int64_t batch, int64_t pp, int64_t dp, ScheduleKind schedule,
                             int64_t virtual_stages) {
  if (pp == 1) return 1;
  for (int64_t m = std::min(batch, 4 * pp); m > 1; --m)
    if (batch % m == 0 && batch / m >= dp && !illegal_reason(schedule, {pp, m, virtual_stages})) return m;
  return 1;
}

std::vector<StageLayers> explicit_stages(const UniformPlan& wish, const spec::ModelSpec& model,
                                         std::vector<std::string>& faults) {
  const auto& sizes = wish.stage_layers;
  const int64_t sum = std::accumulate(sizes.begin(), sizes.end(), int64_t{0});
  if (*std::min_element(sizes.begin(), sizes.end()) < 1)
    faults.emplace_back("stage_layers: every stage needs a layer");
  if (sum != model.size())
    faults.push_back(format("stage_layers adds up to {}, but the model has {} layers", sum, model.size()));
  const auto count = static_cast<int64_t>(sizes.size());
  const auto virtual_stages = std::max<int64_t>(wish.virtual_stages, 1);
  if (wish.pp > 0 && wish.pp * virtual_stages != count)
    faults.push_back(format("stage_layers has {} stages, but pp = {}{}", count, wish.pp,
                            virtual_stages > 1 ? format(", virtual_stages = {}", virtual_stages) : ""));
  if (count % virtual_stages != 0)
    faults.push_back(
        format("stage_layers has {} stages, not a multiple of virtual_stages = {}", count, virtual_stages));
  return stages_of_sizes(sizes);
}

/// Layers that have nothing to gain from recompute (the embedding, the head) go without.
void apply_recompute(Plan& plan, const spec::ModelSpec& model, spec::Recompute recompute) {
  for (size_t i = 0; i < plan.layers.size(); ++i) {
    auto strategy = plan.layers[i];
    strategy.recompute = recompute;
    const auto samples = plan.samples_per_micro();
    if (!program::illegal_reason(model.layers[i], strategy, samples) ||
        program::illegal_reason(model.layers[i], plan.layers[i], samples))
      plan.layers[i] = strategy;
  }
}

[[noreturn]] void refuse(const std::vector<std::string>& faults) {
  throw core::UserError("the plan cannot be played:\n  " + core::join(faults, "\n  "));
}

}  // namespace

std::vector<StageLayers> even_stages(const spec::ModelSpec& model, int64_t stages) {
  const int64_t blocks = (model.size() - 2) / 2;
  const bool ends =
      model.size() >= 4 && model.layers.front().kind == "embedding" && model.layers.back().kind == "head";
  if (!ends || stages > blocks) return stages_of_sizes(even_sizes(model.size(), stages));
  auto sizes = even_sizes(blocks, stages);
  for (int64_t& size : sizes) size *= 2;
  ++sizes.front();
  ++sizes.back();
  return stages_of_sizes(sizes);
}

Plan plan_by_hand(const UniformPlan& wish, const spec::ModelSpec& model) {
  return plan_by_hand(wish, model, spec::fingerprint(model));
}

Plan plan_by_hand(const UniformPlan& wish, const spec::ModelSpec& model, std::string fingerprint) {
  std::vector<std::string> faults;
  Plan plan;
  plan.world = wish.world;
  plan.batch = wish.batch;
  plan.schedule = wish.schedule;
  plan.placement = wish.placement;
  plan.virtual_stages = std::max<int64_t>(wish.virtual_stages, 1);
  const auto listed = static_cast<int64_t>(wish.stage_layers.size());
  const auto pp = std::max<int64_t>(listed == 0 ? wish.pp : listed / plan.virtual_stages, 1);
  const int64_t tp = std::max<int64_t>(wish.tp, 1), sp = std::max<int64_t>(wish.sp, 1),
                cp = std::max<int64_t>(wish.cp, 1);
  const int64_t asked = pp * tp * sp * cp * std::max<int64_t>(wish.dp, 1);
  if (wish.dp > 0 ? asked != wish.world : wish.world % asked != 0)
    faults.push_back(format("pp × tp × sp × cp{} = {} × {} × {} × {}{} = {} does not {} the {} ranks",
                            wish.dp > 0 ? " × dp" : "", pp, tp, sp, cp,
                            wish.dp > 0 ? format(" × {}", wish.dp) : "", asked,
                            wish.dp > 0 ? "equal" : "divide", wish.world));
  if (pp * plan.virtual_stages > model.size())
    faults.push_back(format("pp = {}{} stages, but the model has {} layers", pp,
                            plan.virtual_stages > 1 ? format(" × {} virtual", plan.virtual_stages) : "",
                            model.size()));
  if (!wish.stage_layers.empty()) plan.stages = explicit_stages(wish, model, faults);
  if (!faults.empty()) refuse(faults);
  if (wish.stage_layers.empty()) plan.stages = even_stages(model, pp * plan.virtual_stages);

  spec::LayerStrategy strategy;
  strategy.tp = static_cast<int32_t>(tp);
  strategy.sp = static_cast<int32_t>(sp);
  strategy.cp = static_cast<int32_t>(cp);
  strategy.dp = static_cast<int32_t>(wish.dp > 0 ? wish.dp : wish.world / asked);
  strategy.zero = wish.zero;
  plan.layers.assign(static_cast<size_t>(model.size()), strategy);
  if (model.tied() && pp > 1)
    for (auto* layer : {&plan.layers.front(), &plan.layers.back()}) layer->zero = std::min(layer->zero, 1);
  plan.microbatches = wish.microbatches > 0 ? wish.microbatches
                                            : default_microbatches(wish.batch, pp, strategy.dp, plan.schedule,
                                                                   plan.virtual_stages);
  plan.model_fingerprint = std::move(fingerprint);
  apply_recompute(plan, model, wish.recompute);
  faults = faults_of(plan, model, wish.world);
  if (!faults.empty()) refuse(faults);
  return plan;
}

UniformPlan uniform_from_deck(const deck::PlanSection& section, int64_t world, int64_t batch) {
  UniformPlan wish;
  wish.world = world;
  wish.batch = batch;
  wish.pp = section.pp;
  wish.tp = section.tp;
  wish.sp = section.sp;
  wish.cp = section.cp;
  wish.zero = static_cast<int32_t>(section.zero);
  wish.recompute = section.recompute ? spec::Recompute::full : spec::Recompute::none;
  wish.microbatches = section.microbatches;
  wish.schedule = schedule_named(section.schedule);
  wish.placement = placement_named(section.placement);
  wish.virtual_stages = section.virtual_stages;
  wish.stage_layers = section.stage_layers;
  return wish;
}

}  // namespace galvatron::plan
