#pragma once
// What a device can compute: one asynchronous method per compute step. A backend that lacks one does not
// compile. `cpu` in fp32, bf16 and fp16 is fast, in fp64 slow and obvious (the oracle of all others), `dry`
// checks shapes and does nothing.
//
// Element types: T is the type of activations and parameters (f32, f64, bf16 or f16); A is the type that sums
// are kept in, core::accumulator_of(T). A value of type T is made by one rounding (to nearest, ties to even)
// of what was computed in A.

#include <cstdint>
#include <memory>
#include <span>

#include "core/algorithm_choices.hpp"
#include "core/compute.hpp"
#include "device/device.hpp"
#include "device/tensor.hpp"

namespace galvatron::kernels {

using device::Stream;
using device::TensorView;

using core::ActivationKind;
using core::AttentionPart;
using core::CrossEntropyPhase;
using core::DecayRange;
using core::Direction;
using core::NormKind;
using core::RowPositions;
using core::Transpose;
using core::Write;

/// c (m × n) = op(a) · op(b) [+ bias per column] or, accumulating, c += op(a) · op(b). a, b and bias are T; c
/// is T or A when overwriting, A when accumulating. Products are summed in A.
/// `workspace` is what `gemm_workspace_bytes` asked for (absent when that was 0).
struct GemmArgs {
  TensorView a, b, c, bias;
  Transpose transpose_a = Transpose::no;
  Transpose transpose_b = Transpose::no;
  Write write = Write::overwrite;
  TensorView workspace;
};

/// What follows a product c. gelu: out = gelu(c); c is kept. gelu_backward: out = gelu'(x) · c; what c holds
/// afterwards is undefined. column_sum: out (A, 1 × columns) += Σ over the rows that a has in memory.
/// No two operands of the two share memory, but for out = c of gelu_backward.
struct Epilogue {
  TensorView x, out;
  core::EpilogueKind kind = core::EpilogueKind::gelu;
};

/// y = norm(x) · gamma + beta, row by row; stats (A, rows × 2) receives mean and 1/std (RMSNorm: 0 and
/// 1/rms). beta may be absent.
struct NormArgs {
  TensorView x, gamma, beta, y, stats;
  double eps = 1e-5;
  NormKind kind = NormKind::layernorm;
};

/// dx = gradient of norm (+ residual, when present); dgamma and dbeta (A) accumulate. dx may alias residual,
/// not dy.
struct NormBackwardArgs {
  TensorView x, gamma, stats, dy, residual, dx, dgamma, dbeta, workspace;
  NormKind kind = NormKind::layernorm;
};

/// Rotary position embedding (Su et al., arXiv 2104.09864) in the half-split pairing: in each head of the
/// first heads · head_dim columns of row r, elements i and i + head_dim/2 are turned by the angle
/// positions.of_row(r) · base^(−2i/head_dim); further columns are copied. inverse turns back, which is the
/// gradient. y may be x.
struct RopeArgs {
  TensorView x, y;
  RowPositions positions;
  int64_t heads = 0, head_dim = 0;
  double base = 10000.0;
  Direction direction = Direction::forward;
};

/// Rows of q, k, v and out are tokens in the order [piece][sample][position in piece]: token (sample s,
/// position p) is row (p / piece) · samples · piece + s · piece + p % piece with piece = positions / pieces
/// (what gathering over tensor-parallel ranks leaves). Columns are [head][head_dim]. lse (A, rows × heads,
/// same row order) is the log-sum-exp of the scaled scores. Never holds positions × positions. Query head h
/// reads key/value head h / (heads / kv_heads). q, k and v are T, out is T or A. accumulate merges the part
/// into the results of other keys that out (then A) and lse hold, weighted by their log-sum-exp; queries that
/// the part does not touch keep what they hold.
struct AttentionArgs {
  TensorView q, k, v, out, lse, workspace;
  int64_t samples = 0, positions = 0, pieces = 1, heads = 0, kv_heads = 0, head_dim = 0;
  double scale = 1.0;
  AttentionPart part = AttentionPart::diagonal;
  Write write = Write::overwrite;
};

/// `out` and `lse` are those of the whole forward. dq, dk and dv are each T or A, A when accumulating; when
/// overwriting, rows that the part does not touch become zero.
struct AttentionBackwardArgs {
  TensorView q, k, v, out, lse, dout, dq, dk, dv, workspace;
  int64_t samples = 0, positions = 0, pieces = 1, heads = 0, kv_heads = 0, head_dim = 0;
  double scale = 1.0;
  AttentionPart part = AttentionPart::diagonal;
  Write write_q = Write::overwrite;
  Write write_kv = Write::overwrite;
};

/// One chunk of the head's loss over a vocabulary slice: logits (rows × cols) are those of vocabulary ids
/// [vocab_begin, vocab_begin + cols); ids ≥ vocab are padding and count as −inf (gradient 0).
/// labels: i32 (1 × rows), −1 = ignored row: it adds nothing and gets gradient 0.
/// stats: A, 3 × rows, each statistic contiguous, so that a caller can reduce it over slices.
/// maximum: stats[0] = row maximum.
/// exponentials: stats[1] = Σ exp(logit − stats[0]), stats[2] = logit of the label − stats[0] where the label
/// is in this slice, else 0 (both to be summed over slices by the caller).
/// gradient: loss += Σ over rows of (log stats[1] − stats[2]) · loss_weight, and logits := (softmax −
/// one-hot) · scale, in place, unless scale = 0 (loss only). whole: all three at once, one slice. loss: one
/// f64. `loss_weight` is 1 on exactly one rank of those that share the rows, else 0.
struct CrossEntropyArgs {
  TensorView logits, labels, stats, loss;
  int64_t vocab_begin = 0, vocab = 0;
  double scale = 1.0;
  double loss_weight = 1.0;
  CrossEntropyPhase phase = CrossEntropyPhase::whole;
};

/// AdamW (Loshchilov and Hutter, arXiv 1711.05101), bias-corrected, decoupled decay; all views are flat, of
/// one length. parameter (the master copy), gradient and moments are A; working, where present, is T and
/// receives the updated parameters (absent: parameter is what the layers read). gradient is multiplied by
/// gradient_scale first and set to zero afterwards. `step` counts from 1. eps is added to the root.
struct AdamWArgs {
  TensorView parameter, gradient, exp_avg, exp_avg_sq, working;
  /// In order, covering the views; weight_decay applies where `decays`. Looks at memory of the caller.
  std::span<const DecayRange> decay;
  double weight_decay = 0.0;
  double lr = 0, beta1 = 0.9, beta2 = 0.95, eps = 1e-8, gradient_scale = 1.0;
  int64_t step = 1;
};

class AlgorithmChooser;

class Kernels {
 public:
  virtual ~Kernels() = default;

  virtual void gemm(Stream&, const GemmArgs&) = 0;
  /// A product and what follows it. A back end that has no kernel for the two plays them one after the other,
  /// which is what the base does; one that has does not round c in between.
  virtual void gemm_with(Stream&, const GemmArgs&, const Epilogue&);
  virtual void norm(Stream&, const NormArgs&) = 0;
  virtual void norm_backward(Stream&, const NormBackwardArgs&) = 0;
  /// y = f(x). swiglu: x has twice the columns of y, [gate | up].
  virtual void activation(Stream&, ActivationKind, TensorView x, TensorView y) = 0;
  /// dx = f'(x) · dy; dx may alias dy for gelu.
  virtual void activation_backward(Stream&, ActivationKind, TensorView x, TensorView dy, TensorView dx) = 0;
  virtual void attention(Stream&, const AttentionArgs&) = 0;
  virtual void attention_backward(Stream&, const AttentionBackwardArgs&) = 0;
  /// out = a + b (+ bias on every row, when present), all T. out may alias a or b.
  virtual void add(Stream&, TensorView a, TensorView b, TensorView bias, TensorView out) = 0;
  /// out (A, 1 × cols) += Σ over rows of x (T).
  virtual void column_sum(Stream&, TensorView x, TensorView out) = 0;
  /// out[i] = table[ids[i] − first_id] where that row exists, else 0. ids: i32 (1 × rows).
  virtual void embedding(Stream&, TensorView ids, TensorView table, int64_t first_id, TensorView out) = 0;
  /// dtable[ids[i] − first_id] (A) += dout[i] (T) where that row exists; the sum's order depends on nothing
  /// but the order of i.
  virtual void embedding_backward(Stream&, TensorView ids, TensorView dout, int64_t first_id,
                                  TensorView dtable) = 0;
  /// out[r] = x[r] + table[positions.of_row(r)], all T; rows = positions.rows(). out may alias x.
  virtual void add_positions(Stream&, TensorView x, TensorView table, const RowPositions& positions,
                             TensorView out) = 0;
  /// dtable[positions.of_row(r)] (A) += dout[r] (T), samples in order.
  virtual void add_positions_backward(Stream&, TensorView dout, const RowPositions& positions,
                                      TensorView dtable) = 0;
  virtual void rope(Stream&, const RopeArgs&) = 0;
  virtual void cross_entropy(Stream&, const CrossEntropyArgs&) = 0;
  /// x := value, any floating type.
  virtual void fill(Stream&, TensorView x, double value) = 0;
  /// to := from. The types are the same, or a T and its A: then each element is converted.
  virtual void copy(Stream&, TensorView from, TensorView to) = 0;
  virtual void adamw(Stream&, const AdamWArgs&) = 0;
  /// parameter −= lr · gradient_scale · gradient; gradient := 0. Types and `working` as in AdamWArgs.
  virtual void sgd(Stream&, TensorView parameter, TensorView gradient, TensorView working, double lr,
                   double gradient_scale) = 0;
  /// out (one f64) += Σ x² (A), summed in fp64 in a fixed order.
  virtual void sum_of_squares(Stream&, TensorView x, TensorView out) = 0;

  /// What chooses the algorithms of such steps, before the first of them; null where there is no choice.
  virtual AlgorithmChooser* chooser(core::ChosenStep) { return nullptr; }

  /// Bytes of workspace that a call with these shapes needs (views need no data). Pure per backend and thread
  /// count.
  virtual int64_t gemm_workspace_bytes(const GemmArgs&) = 0;
  virtual int64_t norm_backward_workspace_bytes(const NormBackwardArgs&) = 0;
  virtual int64_t attention_workspace_bytes(const AttentionArgs&) = 0;
  virtual int64_t attention_backward_workspace_bytes(const AttentionBackwardArgs&) = 0;
};

/// `threads` per rank (≥ 1). Throws core::UserError (environment) when the device's kernels were not built
/// in.
std::unique_ptr<Kernels> make_kernels(device::Device& device, int threads);

}  // namespace galvatron::kernels
