#pragma once
// What one rank does for one layer, phase by phase, and the memory it takes. A stage plays the programs of
// its layers one after the other; layers with equal specs, strategies and shapes share one Program.

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "program/step.hpp"
#include "program/value.hpp"
#include "spec/mesh.hpp"
#include "spec/model.hpp"
#include "spec/strategy.hpp"

namespace galvatron::program {

/// Once per micro-batch: gather (ZeRO-3 parameters, before forward or evaluate), forward, forward_reduce
/// (ZeRO-2/3 gradients made there), and the same three of backward. Once per step: sync after the layer's
/// last backward; gradient_norm after the lane, before the global norm is known; update after it. evaluate:
/// forward for the loss alone. restore: working weights from masters that were just loaded. The gathers,
/// reductions and sync touch no work value of other phases, so they may be under way beside another layer's
/// compute.
enum class Phase : uint8_t {
  gather,
  forward,
  forward_reduce,
  backward_gather,
  backward,
  backward_reduce,
  sync,
  evaluate,
  gradient_norm,
  update,
  restore
};
inline constexpr std::array all_phases = {
    Phase::gather,        Phase::forward,         Phase::forward_reduce, Phase::backward_gather,
    Phase::backward,      Phase::backward_reduce, Phase::sync,           Phase::evaluate,
    Phase::gradient_norm, Phase::update,          Phase::restore};
/// What a micro-batch costs in each direction.
inline constexpr std::array forward_phases = {Phase::gather, Phase::forward, Phase::forward_reduce};
inline constexpr std::array backward_phases = {Phase::backward_gather, Phase::backward,
                                               Phase::backward_reduce};
std::string_view name_of(Phase phase);

enum class InitKind : uint8_t { normal, zeros, ones };

/// One logical tensor of a layer and the piece of it that this rank's tensor-parallel index holds. Matrices
/// are [out, in].
struct Parameter {
  std::string name;            ///< inside its layer, e.g. "q.weight"
  std::string owner;           ///< layer whose tensor it is when that is another one (tied), else empty
  int64_t rows = 0, cols = 0;  ///< whole tensor (vector: one row)
  int64_t local_rows = 0, local_cols = 0;  ///< this rank's piece, padding included
  int64_t row_begin = 0, col_begin = 0;    ///< where the piece starts in the whole
  int64_t offset = 0;                      ///< elements from the start of its group
  InitKind init = InitKind::normal;
  double init_std = 0.02;
  bool decays = false;  ///< weight decay applies: tensors with two dims or more

  int64_t local_elements() const { return local_rows * local_cols; }
};

enum class TieRole : uint8_t {
  none,
  owner,  ///< others in this stage read it
  guest,  ///< stored and updated by the owner in the same stage
  across  ///< a copy on the first and on the last stage, kept equal
};

/// Parameters with the same replicas, in one flat buffer. ZeRO shards are equal slices of it.
struct ParameterGroup {
  std::string name;
  std::vector<Parameter> parameters;
  int64_t elements = 0;  ///< of all pieces
  int64_t padded = 0;    ///< rounded up to a multiple of `replicas`
  spec::AxisSet axes;    ///< the ranks that hold the same piece differ in these
  int32_t replicas = 1;
  int32_t replica_index = 0;  ///< which slice is this rank's
  int32_t zero = 0;           ///< effective level: 0 when there is one replica
  TieRole tie = TieRole::none;
  Phase gradient_phase = Phase::backward;  ///< where its gradients are written
  core::DType dtype = core::DType::f32;    ///< of the working weights

  /// Of gradients, moments and the weights that the optimizer updates.
  core::DType accumulator() const { return core::accumulator_of(dtype); }
  /// Whether the optimizer's weights are apart from the working ones.
  bool has_master() const { return dtype != accumulator(); }
  int64_t shard() const { return padded / replicas; }
  int64_t moment_elements() const { return zero >= 1 ? shard() : padded; }
  bool stored_here() const { return tie != TieRole::guest; }
};

/// Bytes of one layer on one rank. Regions of a stage: persistent (sums), slots of saved (sums, times
/// micro-batches in flight), scratch (maxima over layers).
struct MemoryNeed {
  int64_t parameter_bytes = 0;  ///< persistent, by what it holds
  int64_t gradient_bytes = 0;
  int64_t master_bytes = 0;  ///< fp32 weights beside 16-bit working ones
  int64_t moment_bytes = 0;
  int64_t saved_bytes = 0;      ///< per micro-batch in flight
  int64_t work_bytes = 0;       ///< the planner's peak over phases
  int64_t gathered_bytes = 0;   ///< ZeRO-3 parameters while in use
  int64_t unreduced_bytes = 0;  ///< ZeRO-2/3 gradients before reduction

  int64_t persistent_bytes() const { return parameter_bytes + gradient_bytes + master_bytes + moment_bytes; }
};

/// Persistent buffers of one group, bytes from the start of the layer's persistent region; −1 = not stored
/// there.
struct GroupPlacement {
  int64_t weights = -1, weight_shard = -1, gradients = -1, gradient_shard = -1, exp_avg = -1, exp_avg_sq = -1;
  int64_t master = -1;
  int64_t gathered = -1;   ///< bytes from the start of the gather buffer
  int64_t unreduced = -1;  ///< bytes from the start of the unreduced buffer
};

struct Program {
  spec::LayerSpec layer;
  spec::LayerStrategy strategy;
  spec::Coordinate coordinate;
  int64_t samples = 0;  ///< of this rank, per micro-batch
  core::DType dtype = core::DType::f32;

  std::vector<Value> values;
  std::vector<ParameterGroup> groups;
  std::vector<GroupPlacement> placements;  ///< one per group
  std::array<std::vector<Step>, all_phases.size()> phases;
  MemoryNeed memory;
  std::array<int64_t, all_phases.size()> work_bytes{};  ///< by phase; `memory` has the largest

  ValueId input = no_value;   ///< saved; absent in a layer that reads tokens
  ValueId tokens = no_value;  ///< saved, i32: ids that this rank's tp group looks up, in gathered row order
  ValueId labels = no_value;  ///< saved, i32: likewise
  ValueId output = no_value;  ///< absent in the head
  ValueId output_gradient = no_value;  ///< absent in the head
  ValueId input_gradient = no_value;   ///< absent in a layer that reads tokens

  std::vector<Step>& steps(Phase phase) { return phases[static_cast<size_t>(phase)]; }
  const std::vector<Step>& steps(Phase phase) const { return phases[static_cast<size_t>(phase)]; }
  const Value& value(ValueId id) const { return values[static_cast<size_t>(id)]; }
  Value& value(ValueId id) { return values[static_cast<size_t>(id)]; }
};

}  // namespace galvatron::program
