#pragma once
// Plan × rank → what that rank holds and plays: its layers' Programs, where each lies in the three regions of
// memory, its lane.

#include <cstdint>
#include <memory>
#include <vector>

#include "plan/plan.hpp"
#include "program/lower.hpp"

namespace galvatron::plan {

/// One layer of the stage. Layers with equal programs share one.
struct LayerInstance {
  int64_t layer = 0;                                ///< index in the model
  std::shared_ptr<const program::Program> program;  // shared: read-only, equal layers lower to one value
  int64_t persistent_offset = 0;                    ///< bytes from the start of the persistent region
  int64_t saved_offset = 0;                         ///< bytes from the start of a slot
  int64_t tie_owner = -1;  ///< instance that stores this layer's guest group, or −1
};

/// Bytes of one rank's arena, region by region. Aligned to 64 inside; the arena is exactly `total()`.
struct ArenaLayout {
  int64_t persistent_bytes = 0;
  int64_t slot_bytes = 0;       ///< saved values of one micro-batch in flight
  int64_t slots = 1;            ///< in-flight count of the lane
  int64_t work_bytes = 0;       ///< largest of the layers
  int64_t gathered_bytes = 0;   ///< largest of the layers
  int64_t unreduced_bytes = 0;  ///< largest of the layers
  int64_t flow_bytes = 0;       ///< one activation gradient
  int64_t flow_buffers = 0;     ///< between layers; two take turns where there are more
  int64_t boundary_bytes = 0;   ///< pipeline messages: one receive ahead and one send in flight per direction

  int64_t scratch_bytes() const {
    return work_bytes + gathered_bytes + unreduced_bytes + flow_buffers * flow_bytes;
  }
  int64_t total() const { return persistent_bytes + slots * slot_bytes + scratch_bytes() + boundary_bytes; }
};

struct StageProgram {
  int64_t stage = 0, stages = 1;
  int64_t rank = 0;        ///< in the world
  int64_t first_rank = 0;  ///< of the stage
  int64_t samples = 0;     ///< of this rank, per micro-batch
  std::vector<LayerInstance> layers;
  Lane lane;
  ArenaLayout arena;
  int64_t boundary_rows = 0, boundary_cols = 0;  ///< of an activation between stages
};

/// How a layer, and the activations of a stage of `layers` layers, add to an arena. The cost model accounts
/// with the same two functions.
void account_layer(ArenaLayout& arena, const program::MemoryNeed& need);
void account_flow(ArenaLayout& arena, int64_t activation_bytes, int64_t layers, int64_t stage,
                  int64_t stages);

/// The plan must be free of faults.
StageProgram lower_stage(const Plan& plan, const spec::ModelSpec& model, int64_t rank, core::DType dtype,
                         const program::WorkspaceRule& workspace);

/// The context in which `lower_stage` lowers a layer: what the cost model must use to price the same Program.
program::LayerContext context_of(const Plan& plan, const spec::ModelSpec& model, int64_t layer, int64_t rank,
                                 core::DType dtype);

}  // namespace galvatron::plan
