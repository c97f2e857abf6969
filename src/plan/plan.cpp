// Whether a plan can be played at all. Every reason is given with its numbers and all of them at once,
// because a plan may come from a text editor.
#include "plan/plan.hpp"

#include <algorithm>
#include <set>

#include "core/errors.hpp"
#include "core/format.hpp"
#include "program/lower.hpp"

namespace galvatron::plan {
namespace {

using core::format;

/// Layers are named in messages as the model names them.
std::string layer_text(const spec::ModelSpec& model, int64_t layer) {
  const auto i = static_cast<size_t>(layer);
  return i < model.names.size() ? format("layer {} ({})", layer, model.names[i]) : format("layer {}", layer);
}

/// Reasons are collected; those about one layer are said once, for the first layer that has them.
class Faults {
 public:
  void add(std::string text) {
    if (std::find(texts_.begin(), texts_.end(), text) == texts_.end()) texts_.push_back(std::move(text));
  }
  std::vector<std::string> take() { return std::move(texts_); }

 private:
  std::vector<std::string> texts_;
};

void check_counts(const Plan& plan, int64_t world, Faults& faults) {
  if (plan.world != world)
    faults.add(format("the plan is for {} ranks, but there are {}", plan.world, world));
  if (plan.batch < 1) faults.add(format("a batch of {} samples is not positive", plan.batch));
  if (plan.microbatches < 1) {
    faults.add(format("{} micro-batches are not a positive number", plan.microbatches));
  } else if (plan.batch >= 1 && plan.batch % plan.microbatches != 0) {
    faults.add(
        format("{} micro-batches do not divide the batch of {} samples", plan.microbatches, plan.batch));
  }
}

void check_stages(const Plan& plan, const spec::ModelSpec& model, Faults& faults) {
  int64_t next = 0;
  for (size_t s = 0; s < plan.stages.size(); ++s) {
    const StageLayers& stage = plan.stages[s];
    if (stage.last < stage.first) {
      faults.add(format("stage {} holds no layer: [{}, {}]", s, stage.first, stage.last));
      continue;
    }
    if (stage.first != next)
      faults.add(format("stage {} starts at layer {}, but layer {} is next", s, stage.first, next));
    next = std::max(next, stage.last + 1);
  }
  if (next != model.size())
    faults.add(
        format("the stages hold layers 0 … {}, but the model has layers 0 … {}", next - 1, model.size() - 1));
}

void check_axes(const spec::LayerStrategy& s, const std::string& where, Faults& faults) {
  const std::pair<std::string_view, int32_t> degrees[] = {
      {"tp", s.tp}, {"sp", s.sp}, {"cp", s.cp}, {"dp", s.dp}, {"ep", s.ep}};
  for (const auto& [axis, degree] : degrees)
    if (degree < 1) faults.add(format("{}: {} = {} is not positive", where, axis, degree));
  if (s.zero < 0 || s.zero > 3)
    faults.add(format("{}: ZeRO level {} is not one of 0, 1, 2, 3", where, s.zero));
}

bool positive(const spec::LayerStrategy& s) {
  return s.tp >= 1 && s.sp >= 1 && s.cp >= 1 && s.dp >= 1 && s.ep >= 1;
}

/// Whether stages and virtual stages divide the ranks at all.
bool divides(const Plan& plan) {
  const auto stages = static_cast<int64_t>(plan.stages.size());
  return stages >= 1 && plan.virtual_stages >= 1 && stages % plan.virtual_stages == 0 &&
         plan.world % plan.pipeline_ranks() == 0;
}

void check_pipeline(const Plan& plan, Faults& faults) {
  const auto stages = static_cast<int64_t>(plan.stages.size());
  if (plan.virtual_stages < 1) {
    faults.add(format("virtual_stages = {} is not positive", plan.virtual_stages));
  } else if (stages % plan.virtual_stages != 0) {
    faults.add(format("{} stages are not a multiple of virtual_stages = {}", stages, plan.virtual_stages));
  } else {
    const auto ranks = plan.pipeline_ranks();
    if (plan.world % ranks != 0) faults.add(format("{} stages do not divide {} ranks", ranks, plan.world));
    if (plan.microbatches >= 1)
      if (const auto reason = illegal_reason(plan.schedule, plan.pipeline())) faults.add(*reason);
  }
}

void check_layer(const Plan& plan, const spec::ModelSpec& model, int64_t layer, Faults& faults) {
  const auto& strategy = plan.layers[static_cast<size_t>(layer)];
  const std::string where = layer_text(model, layer);
  check_axes(strategy, where, faults);
  if (!positive(strategy)) return;
  if (divides(plan) && strategy.ranks() != plan.ranks_per_stage())
    faults.add(format(
        "{}: tp × sp × cp × dp = {} × {} × {} × {} = {}, but a stage has {} ranks ({} ranks / {} stages{})",
        where, strategy.tp, strategy.sp, strategy.cp, strategy.dp, strategy.ranks(), plan.ranks_per_stage(),
        plan.world, plan.stages.size(),
        plan.virtual_stages > 1 ? format(" × {} virtual stages", plan.virtual_stages) : ""));
  if (plan.microbatches < 1 || plan.batch < 1 || plan.batch % plan.microbatches != 0) return;
  if (strategy.dp > plan.samples_per_micro()) {
    faults.add(
        format("{}: dp = {} needs at least that many samples in a micro-batch, but it has {} ({} samples / "
               "{} micro-batches)",
               where, strategy.dp, plan.samples_per_micro(), plan.batch, plan.microbatches));
  } else if (const auto reason = program::illegal_reason(model.layers[static_cast<size_t>(layer)], strategy,
                                                         plan.samples_per_micro())) {
    faults.add(format("{}: {}", where, *reason));
  }
}

/// Equal layers with equal strategies share their faults: only the first is checked.
void check_layers(const Plan& plan, const spec::ModelSpec& model, Faults& faults) {
  std::vector<std::pair<const spec::LayerSpec*, const spec::LayerStrategy*>> seen;
  for (int64_t layer = 0; layer < model.size(); ++layer) {
    const auto* spec = &model.layers[static_cast<size_t>(layer)];
    const auto* strategy = &plan.layers[static_cast<size_t>(layer)];
    if (std::any_of(seen.begin(), seen.end(),
                    [&](const auto& s) { return *s.first == *spec && *s.second == *strategy; }))
      continue;
    seen.emplace_back(spec, strategy);
    check_layer(plan, model, layer, faults);
  }
}

void check_tie(const Plan& plan, const spec::ModelSpec& model, Faults& faults) {
  if (!model.tied()) return;
  const auto &embedding = plan.layers.front(), &head = plan.layers.back();
  if (embedding.tp != head.tp || embedding.zero != head.zero)
    faults.add(format(
        "the head uses the embedding's table, so both need the same tp and ZeRO level: embedding tp = {}, "
        "zero = {}; head tp = {}, zero = {}",
        embedding.tp, embedding.zero, head.tp, head.zero));
  if (plan.stages.size() > 1 && std::max(embedding.zero, head.zero) > 1)
    faults.add(format(
        "the head uses the embedding's table from another stage, so their ZeRO level must be 0 or 1, not {}",
        std::max(embedding.zero, head.zero)));
}

void check_forms(const Plan& plan, Faults& faults) {
  std::set<core::FormChoice> seen;
  for (const auto& choice : plan.forms) {
    const auto& [ranks, nodes, per_node, row] = choice;
    const std::string where =
        format("form of {} of {} ranks on {} nodes", core::name_of(row.kind), ranks, nodes);
    if (ranks > plan.world || nodes > ranks || per_node > ranks || int64_t{nodes} * per_node < ranks ||
        ranks < nodes + per_node - 1) {
      faults.add(format("{}: no group of a plan of {} ranks lies on {} nodes with at most {} on one", where,
                        plan.world, nodes, per_node));
    } else if (const auto fault = core::form_fault(row.form, row.kind, ranks, nodes, per_node);
               !fault.empty()) {
      faults.add(format("{}: {}", where, fault));
    }
    auto key = choice;
    key.row.form = core::Form::direct;
    if (!seen.insert(key).second)
      faults.add(format("{}: named twice from {} bytes on", where, row.from_bytes));
  }
}

}  // namespace

int64_t Plan::stage_of_layer(int64_t layer) const {
  for (size_t s = 0; s < stages.size(); ++s)
    if (stages[s].first <= layer && layer <= stages[s].last) return static_cast<int64_t>(s);
  throw core::InternalError(format("layer {} is on none of the {} stages", layer, stages.size()));
}

std::vector<std::string> faults_of(const Plan& plan, const spec::ModelSpec& model, int64_t world) {
  Faults faults;
  check_counts(plan, world, faults);
  check_forms(plan, faults);
  if (plan.stages.empty()) {
    faults.add("the plan has no stage");
  } else {
    check_pipeline(plan, faults);
    check_stages(plan, model, faults);
  }
  if (static_cast<int64_t>(plan.layers.size()) != model.size()) {
    faults.add(format("the plan has strategies for {} layers, but the model has {}", plan.layers.size(),
                      model.size()));
    return faults.take();
  }
  check_layers(plan, model, faults);
  check_tie(plan, model, faults);
  return faults.take();
}

}  // namespace galvatron::plan
