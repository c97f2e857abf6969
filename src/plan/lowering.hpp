#pragma once
// Plan × rank → what that rank holds and plays: its layers' Programs, where each lies in the three regions of
// memory, its lane.

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "plan/flow.hpp"
#include "plan/plan.hpp"
#include "program/lower.hpp"

namespace galvatron::plan {

/// One layer or transition of the rank. Layers with equal programs share one.
struct LayerInstance {
  int64_t layer = 0;                                ///< index in the model; FlowItem::transition
  std::shared_ptr<const program::Program> program;  // shared: read-only, equal layers lower to one value
  int64_t persistent_offset = 0;                    ///< bytes from the start of the persistent region
  int64_t saved_offset = 0;                         ///< bytes from the start of a slot of its chunk
  int64_t gather_buffer = 0, reduce_buffer = 0;     ///< which of the two
  int64_t tie_owner = -1;  ///< instance that stores this layer's guest group, or −1
};

/// Bytes of one rank's arena, region by region. Aligned to 64 inside; the arena is exactly `total()`.
struct ArenaLayout {
  int64_t persistent_bytes = 0;
  int64_t saved_bytes = 0;  ///< of all micro-batches in flight, chunk by chunk
  int64_t work_bytes = 0;   ///< largest of the layers
  /// Layers that gather parameters, and those that reduce gradients, take turns at two buffers each, so that
  /// one layer's can be under way while another computes.
  std::array<int64_t, 2> gathered_bytes{}, unreduced_bytes{};
  int64_t gathering_layers = 0, reducing_layers = 0;
  std::array<int64_t, 2> flow_bytes{};  ///< activations and gradients between layers take turns
  int64_t boundary_bytes = 0;  ///< pipeline messages: one receive ahead and one send in flight per channel

  int64_t scratch_bytes() const {
    return work_bytes + gathered_bytes[0] + gathered_bytes[1] + unreduced_bytes[0] + unreduced_bytes[1] +
           flow_bytes[0] + flow_bytes[1];
  }
  int64_t total() const { return persistent_bytes + saved_bytes + scratch_bytes() + boundary_bytes; }
};

/// One end of a stage: the messages of an activation and of its gradient, in a buffer each.
struct Boundary {
  int64_t rows = 0, cols = 0;                          ///< no rows: nothing crosses
  int64_t activation_offset = 0, gradient_offset = 0;  ///< bytes from the start of the boundary region

  bool present() const { return rows > 0; }
};

/// One stage of the model on its pipeline rank.
struct Chunk {
  int64_t stage = 0;            ///< of the plan
  int64_t first = 0, size = 0;  ///< instances
  int64_t slots = 1;            ///< in-flight count of the lane
  int64_t slot_bytes = 0;       ///< saved values of one micro-batch in flight
  int64_t slots_offset = 0;     ///< bytes from the start of the saved region
  Boundary input, output;
};

/// What one rank holds and plays.
struct StageProgram {
  PipelineShape pipeline;
  int64_t pipeline_rank = 0;
  int64_t rank = 0;    ///< in the world
  int64_t member = 0;  ///< among the ranks of its stages
  std::vector<LayerInstance> layers;
  std::vector<Chunk> chunks;
  Lane lane;
  ArenaLayout arena;
};

/// How the parts of a rank add to its arena. The cost model accounts with the same functions. A layer or
/// transition whose chunk has so many micro-batches in flight:
void account_layer(ArenaLayout& arena, const program::MemoryNeed& need, int64_t slots);
/// What item `index` of a chunk hands to the next one.
void account_flow(ArenaLayout& arena, int64_t index, int64_t bytes);
/// One end of a stage where activations of so many bytes cross; the offset of the first of its two buffers.
int64_t account_boundary(ArenaLayout& arena, int64_t bytes);

/// The plan must be free of faults.
StageProgram lower_stage(const Plan& plan, const spec::ModelSpec& model, int64_t rank, core::DType dtype,
                         const program::WorkspaceRule& workspace);

/// The context in which `lower_stage` lowers a layer on a rank of the world: what the cost model must use to
/// price the same Program.
program::LayerContext context_of(const Plan& plan, const spec::ModelSpec& model, int64_t layer, int64_t rank,
                                 core::DType dtype);

}  // namespace galvatron::plan
