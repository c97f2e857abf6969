// Lays out what one rank of a plan holds and plays. Equal layers share a Program; only their places in memory
// differ.

#include "plan/lowering.hpp"

#include <algorithm>
#include <map>
#include <tuple>

#include "core/errors.hpp"
#include "core/format.hpp"
#include "program/memory.hpp"
#include "spec/token_layout.hpp"

namespace galvatron::plan {
namespace {

using program::LayerContext;
using program::TieScope;

TieScope tie_scope_of(const Plan& plan, const spec::ModelSpec& model, int64_t layer) {
  const auto& kind = model.layers[static_cast<size_t>(layer)].kind;
  if (!model.tied() || (kind != "embedding" && kind != "head")) return TieScope::none;
  return plan.stages.size() == 1 ? TieScope::same_stage : TieScope::across_stages;
}

/// Guests are stored by the layer that their parameters name as owner.
int64_t owner_instance(const program::Program& guest, const spec::ModelSpec& model,
                       const std::vector<LayerInstance>& layers) {
  for (const auto& group : guest.groups) {
    if (group.tie != program::TieRole::guest) continue;
    for (size_t i = 0; i < layers.size(); ++i)
      if (model.names[static_cast<size_t>(layers[i].layer)] == group.parameters.front().owner)
        return static_cast<int64_t>(i);
    throw core::InternalError(
        core::format("no layer '{}' in this stage to own '{}'", group.parameters.front().owner, group.name));
  }
  return -1;
}

}  // namespace

LayerContext context_of(const Plan& plan, const spec::ModelSpec& model, int64_t layer, int64_t rank,
                        core::DType dtype) {
  LayerContext context;
  context.strategy = plan.layers[static_cast<size_t>(layer)];
  const auto first_rank = plan.stage_of_layer(layer) * plan.ranks_per_stage();
  context.coordinate = spec::MeshShape(context.strategy, first_rank).coordinate_of(rank);
  const spec::TokenLayout layout{plan.samples_per_micro(), model.seq, context.strategy};
  context.samples = layout.samples_of(context.coordinate.dp).size();
  context.dtype = dtype;
  context.loss_scale = 1.0 / (static_cast<double>(plan.batch) * static_cast<double>(model.seq));
  context.tie = tie_scope_of(plan, model, layer);
  return context;
}

void account_layer(ArenaLayout& arena, const program::MemoryNeed& need) {
  arena.persistent_bytes += need.persistent_bytes();
  arena.slot_bytes += need.saved_bytes;
  arena.work_bytes = std::max(arena.work_bytes, need.work_bytes);
  arena.gathered_bytes = std::max(arena.gathered_bytes, need.gathered_bytes);
  arena.unreduced_bytes = std::max(arena.unreduced_bytes, need.unreduced_bytes);
}

void account_flow(ArenaLayout& arena, int64_t activation_bytes, int64_t layers, int64_t stage,
                  int64_t stages) {
  arena.flow_buffers = std::min<int64_t>(2, layers - 1);
  arena.flow_bytes = program::aligned(activation_bytes);
  // Towards each neighbour one buffer to send from and one to receive into.
  const int64_t neighbours = (stage > 0 ? 1 : 0) + (stage + 1 < stages ? 1 : 0);
  arena.boundary_bytes = 2 * neighbours * program::aligned(activation_bytes);
}

StageProgram lower_stage(const Plan& plan, const spec::ModelSpec& model, int64_t rank, core::DType dtype,
                         const program::WorkspaceRule& workspace) {
  StageProgram result;
  result.rank = rank;
  result.stages = static_cast<int64_t>(plan.stages.size());
  result.stage = plan.stage_of_rank(rank);
  result.first_rank = result.stage * plan.ranks_per_stage();
  const auto lanes = make_schedule(plan.schedule, {result.stages, plan.microbatches});
  // The proof before every launch: no plan whose lanes could hang gets as far as memory.
  if (const auto fault = find_fault(lanes))
    throw core::InternalError(core::format("the schedule cannot be played: {}", *fault));
  result.lane = lanes[static_cast<size_t>(result.stage)];
  result.arena.slots = in_flight(result.lane);

  std::map<std::pair<spec::LayerSpec, spec::LayerStrategy>, std::shared_ptr<const program::Program>> lowered;
  const auto range = plan.stages[static_cast<size_t>(result.stage)];
  for (auto layer = range.first; layer <= range.last; ++layer) {
    const auto& spec = model.layers[static_cast<size_t>(layer)];
    const auto context = context_of(plan, model, layer, rank, dtype);
    auto& shared = lowered[{spec, context.strategy}];
    if (!shared) shared = std::make_shared<const program::Program>(program::lower(spec, context, workspace));
    LayerInstance instance;
    instance.layer = layer;
    instance.program = shared;
    instance.persistent_offset = result.arena.persistent_bytes;
    instance.saved_offset = result.arena.slot_bytes;
    instance.tie_owner = owner_instance(*shared, model, result.layers);
    account_layer(result.arena, shared->memory);
    result.layers.push_back(std::move(instance));
    result.samples = context.samples;
    result.boundary_rows = context.samples * (model.seq / (context.strategy.ranks() / context.strategy.dp));
    result.boundary_cols = spec.dims.hidden;
  }
  account_flow(result.arena, result.boundary_rows * result.boundary_cols * core::size_of(dtype), range.size(),
               result.stage, result.stages);
  return result;
}

}  // namespace galvatron::plan
