// Lays out what one rank of a plan holds and plays. Equal layers share a Program; only their places in memory
// differ.

#include "plan/lowering.hpp"

#include <algorithm>
#include <map>

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
  return plan.pipeline_ranks() == 1 ? TieScope::same_stage : TieScope::across_stages;
}

/// Guests are stored by the layer that their parameters name as owner.
int64_t owner_instance(const program::Program& guest, const spec::ModelSpec& model,
                       const std::vector<LayerInstance>& layers) {
  for (const auto& group : guest.groups) {
    if (group.tie != program::TieRole::guest) continue;
    for (size_t i = 0; i < layers.size(); ++i)
      if (layers[i].layer != FlowItem::transition &&
          model.names[static_cast<size_t>(layers[i].layer)] == group.parameters.front().owner)
        return static_cast<int64_t>(i);
    throw core::InternalError(
        core::format("no layer '{}' in this stage to own '{}'", group.parameters.front().owner, group.name));
  }
  return -1;
}

/// Lowers the stages of one rank, one after the other.
class Lowering {
 public:
  Lowering(const Plan& plan, const spec::ModelSpec& model, int64_t rank, core::DType dtype,
           const program::WorkspaceRule& workspace)
      : plan_(plan), model_(model), dtype_(dtype), workspace_(workspace) {
    result_.pipeline = plan.pipeline();
    result_.rank = rank;
    result_.pipeline_rank = plan.pipeline_rank_of(rank);
    result_.member = plan.member_of(rank);
  }

  StageProgram run() {
    const auto lanes = make_schedule(plan_.schedule, result_.pipeline);
    // The proof before every launch: no plan whose lanes could hang gets as far as memory.
    if (const auto fault = find_fault(lanes, plan_.virtual_stages))
      throw core::InternalError(core::format("the schedule cannot be played: {}", *fault));
    result_.lane = lanes[static_cast<size_t>(result_.pipeline_rank)];
    for (int64_t chunk = 0; chunk < plan_.virtual_stages; ++chunk) add_chunk(chunk);
    return std::move(result_);
  }

 private:
  void add_chunk(int64_t index) {
    Chunk chunk;
    chunk.stage = index * result_.pipeline.ranks + result_.pipeline_rank;
    chunk.first = static_cast<int64_t>(result_.layers.size());
    chunk.slots = in_flight(result_.lane, static_cast<int32_t>(index));
    chunk.slots_offset = result_.arena.saved_bytes;
    for (const auto& item : flow_of(plan_, chunk.stage)) {
      if (chunk.size > 0) account_flow(result_.arena, chunk.size - 1, bytes_of(item.from));
      add(item, chunk);
    }
    if (chunk.stage > 0) chunk.input = boundary(input_strategy(plan_, chunk.stage));
    if (chunk.stage + 1 < result_.pipeline.stages())
      chunk.output = boundary(output_strategy(plan_, chunk.stage));
    result_.chunks.push_back(chunk);
  }

  void add(const FlowItem& item, Chunk& chunk) {
    LayerInstance instance;
    instance.layer = item.layer;
    instance.program = program_of(item);
    instance.persistent_offset = result_.arena.persistent_bytes;
    instance.saved_offset = chunk.slot_bytes;
    instance.tie_owner = owner_instance(*instance.program, model_, result_.layers);
    instance.gather_buffer = result_.arena.gathering_layers % 2;
    instance.reduce_buffer = result_.arena.reducing_layers % 2;
    account_layer(result_.arena, instance.program->memory, chunk.slots);
    chunk.slot_bytes += instance.program->memory.saved_bytes;
    ++chunk.size;
    result_.layers.push_back(std::move(instance));
  }

  std::shared_ptr<const program::Program> program_of(const FlowItem& item) {
    if (item.is_transition())
      return std::make_shared<const program::Program>(
          program::transition(transition_context(plan_, model_, item, result_.member, dtype_)));
    const auto& spec = model_.layers[static_cast<size_t>(item.layer)];
    const auto context = context_of(plan_, model_, item.layer, result_.rank, dtype_);
    auto& shared = lowered_[{spec, context.strategy}];
    if (!shared) shared = std::make_shared<const program::Program>(program::lower(spec, context, workspace_));
    return shared;
  }

  Boundary boundary(const spec::LayerStrategy& strategy) {
    Boundary end;
    end.rows = rows_of(plan_, model_, strategy, result_.member);
    end.cols = model_.layers.front().dims.hidden;
    const auto bytes = bytes_of(strategy);
    end.activation_offset = account_boundary(result_.arena, bytes);
    end.gradient_offset = end.activation_offset + program::aligned(bytes);
    return end;
  }

  int64_t bytes_of(const spec::LayerStrategy& strategy) const {
    return rows_of(plan_, model_, strategy, result_.member) * model_.layers.front().dims.hidden *
           core::size_of(dtype_);
  }

  const Plan& plan_;
  const spec::ModelSpec& model_;
  core::DType dtype_;
  const program::WorkspaceRule& workspace_;
  StageProgram result_;
  std::map<std::pair<spec::LayerSpec, spec::LayerStrategy>, std::shared_ptr<const program::Program>> lowered_;
};

}  // namespace

LayerContext context_of(const Plan& plan, const spec::ModelSpec& model, int64_t layer, int64_t rank,
                        core::DType dtype) {
  LayerContext context;
  context.strategy = plan.layers[static_cast<size_t>(layer)];
  context.coordinate = spec::MeshShape(context.strategy, 0).coordinate_of(plan.member_of(rank));
  const spec::TokenLayout layout{plan.samples_per_micro(), model.seq, context.strategy};
  context.samples = layout.samples_of(context.coordinate.dp).size();
  context.dtype = dtype;
  context.loss_scale = 1.0 / (static_cast<double>(plan.batch) * static_cast<double>(model.seq));
  context.tie = tie_scope_of(plan, model, layer);
  return context;
}

namespace {

void take_turn(std::array<int64_t, 2>& buffers, int64_t& users, int64_t bytes) {
  if (bytes == 0) return;
  auto& buffer = buffers[static_cast<size_t>(users++ % 2)];
  buffer = std::max(buffer, bytes);
}

}  // namespace

void account_layer(ArenaLayout& arena, const program::MemoryNeed& need, int64_t slots) {
  arena.persistent_bytes += need.persistent_bytes();
  arena.saved_bytes += slots * need.saved_bytes;
  arena.work_bytes = std::max(arena.work_bytes, need.work_bytes);
  take_turn(arena.gathered_bytes, arena.gathering_layers, need.gathered_bytes);
  take_turn(arena.unreduced_bytes, arena.reducing_layers, need.unreduced_bytes);
}

void account_flow(ArenaLayout& arena, int64_t index, int64_t bytes) {
  auto& buffer = arena.flow_bytes[static_cast<size_t>(index % 2)];
  buffer = std::max(buffer, program::aligned(bytes));
}

int64_t account_boundary(ArenaLayout& arena, int64_t bytes) {
  const auto offset = arena.boundary_bytes;
  arena.boundary_bytes += 2 * program::aligned(bytes);
  return offset;
}

StageProgram lower_stage(const Plan& plan, const spec::ModelSpec& model, int64_t rank, core::DType dtype,
                         const program::WorkspaceRule& workspace) {
  return Lowering(plan, model, rank, dtype, workspace).run();
}

}  // namespace galvatron::plan
