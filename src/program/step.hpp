#pragma once
// One thing that a rank does. The same list of steps is priced by cost, rehearsed by the dry back end and
// played by runtime, so none of the three can drift from the others.

#include <cstdint>
#include <string_view>
#include <variant>
#include <vector>

#include "core/compute.hpp"
#include "program/value.hpp"
#include "spec/axes.hpp"

namespace galvatron::program {

enum class StepKind : uint8_t {
  gemm,
  norm,
  norm_backward,
  activation,
  activation_backward,
  attention,
  attention_backward,
  add,
  column_sum,
  embedding,
  embedding_backward,
  positions,
  positions_backward,
  cross_entropy,
  fill,
  copy,
  collective,
  sum_of_squares,
  optimizer,
  rope,
  wait,
};

std::string_view name_of(StepKind kind);

struct GemmAttributes {
  core::Transpose a = core::Transpose::no, b = core::Transpose::no;
  core::Write write = core::Write::overwrite;
};
struct NormAttributes {
  core::NormKind kind = core::NormKind::layernorm;
  double eps = 1e-5;
};
struct ActivationAttributes {
  core::ActivationKind kind = core::ActivationKind::gelu;
};
/// Counts of this rank. Row order as in kernels::AttentionArgs. `merge`: forward adds the part to what out
/// and lse hold. `sum_q`: backward adds to dq; dk and dv are this part's alone.
struct AttentionAttributes {
  int64_t samples = 0, positions = 0, pieces = 1, heads = 0, kv_heads = 0, head_dim = 0;
  double scale = 1.0;
  core::AttentionPart part = core::AttentionPart::diagonal;
  core::Write merge = core::Write::overwrite, sum_q = core::Write::overwrite;
};
struct RopeAttributes {
  core::RowPositions positions;
  int64_t heads = 0, head_dim = 0;
  double base = 10000.0;
  core::Direction direction = core::Direction::forward;
};
struct WaitAttributes {
  int32_t ticket = 0;
};
struct LookupAttributes {
  int64_t first_id = 0;
};
struct PositionAttributes {
  core::RowPositions positions;
};
struct CrossEntropyAttributes {
  core::CrossEntropyPhase phase = core::CrossEntropyPhase::whole;
  int64_t vocab_begin = 0, vocab = 0;
  double scale = 1.0, loss_weight = 1.0;
};
struct FillAttributes {
  double value = 0.0;
};
/// all_gather, reduce_scatter, all_to_all and shift read and write whole operands; all_reduce works in place
/// on its single write. reduce_scatter may write its own block of what it reads. With a ticket the step only
/// starts (shift): the wait step with that ticket ends it and names the same operands. exchange has
/// a read for each member that it sends to and a write for each that it receives from.
struct CollectiveAttributes {
  core::CollectiveKind kind = core::CollectiveKind::all_reduce;
  core::ReduceOp reduce = core::ReduceOp::sum;
  spec::AxisSet axes;
  int32_t ranks = 1;      ///< members of the group
  bool gradient = false;  ///< gradient and parameter traffic, apart from the layers' own
  int32_t ticket = -1;
  std::vector<int32_t> to = {}, from = {};  ///< exchange: the member of each read, of each write
};
struct OptimizerAttributes {
  std::vector<core::DecayRange> decay;  ///< relative to the operands
};

using Attributes =
    std::variant<std::monostate, GemmAttributes, NormAttributes, ActivationAttributes, AttentionAttributes,
                 LookupAttributes, PositionAttributes, CrossEntropyAttributes, FillAttributes,
                 CollectiveAttributes, OptimizerAttributes, RopeAttributes, WaitAttributes>;

/// Operands in the order of the kernel's arguments; absent optional ones stay in place with no value:
///   gemm reads a, b, bias → c            norm reads x, gamma, beta → y, stats
///   norm_backward reads x, gamma, stats, dy, residual → dx, dgamma, dbeta
///   activation reads x → y               activation_backward reads x, dy → dx
///   attention reads q, k, v → out, lse   attention_backward reads q, k, v, out, lse, dout → dq, dk, dv
///   add reads a, b, bias → out           column_sum reads x → out (accumulates)
///   embedding reads ids, table → out     embedding_backward reads ids, dout → dtable (accumulates)
///   positions reads x, table → out       positions_backward reads dout → dtable (accumulates)
///   cross_entropy reads labels → logits, stats, loss
///   fill → x     copy reads x → y        collective reads in → out (all_reduce: → data)
///   sum_of_squares reads x → out         rope reads x → y
///   optimizer → weights (master ones where there are), gradients, exp_avg, exp_avg_sq, working weights
///   wait reads in → out of the collective that it ends
struct Step {
  StepKind kind = StepKind::fill;
  std::vector<Operand> reads;
  std::vector<Operand> writes;
  Attributes attributes;
  Operand workspace;
};

}  // namespace galvatron::program
