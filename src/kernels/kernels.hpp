#pragma once
// What a device can compute: one asynchronous method per compute step. A backend that lacks one does not
// compile. `cpu` in fp32 is fast, `cpu` in fp64 is slow and obvious (the oracle of all others), `dry` checks
// shapes and does nothing.

#include <cstdint>
#include <memory>
#include <vector>

#include "core/compute.hpp"
#include "device/device.hpp"
#include "device/tensor.hpp"

namespace galvatron::kernels {

using device::Stream;
using device::TensorView;

using core::ActivationKind;
using core::CrossEntropyPhase;
using core::DecayRange;
using core::NormKind;
using core::Transpose;
using core::Write;

/// c (m × n) = op(a) · op(b) [+ bias per column] or, accumulating, c += op(a) · op(b).
/// `workspace` is what `gemm_workspace_bytes` asked for (absent when that was 0).
struct GemmArgs {
  TensorView a, b, c, bias;
  Transpose transpose_a = Transpose::no;
  Transpose transpose_b = Transpose::no;
  Write write = Write::overwrite;
  TensorView workspace;
};

/// y = norm(x) · gamma + beta, row by row; stats (rows × 2) receives mean and 1/std (RMSNorm: 0 and 1/rms).
/// beta may be absent.
struct NormArgs {
  TensorView x, gamma, beta, y, stats;
  double eps = 1e-5;
  NormKind kind = NormKind::layernorm;
};

/// dx = gradient of norm (+ residual, when present); dgamma and dbeta accumulate. dx may alias residual, not
/// dy.
struct NormBackwardArgs {
  TensorView x, gamma, stats, dy, residual, dx, dgamma, dbeta, workspace;
  NormKind kind = NormKind::layernorm;
};

/// Rows of q, k, v and out are tokens in the order [piece][sample][position in piece]: token (sample s,
/// position p) is row (p / piece) · samples · piece + s · piece + p % piece with piece = positions / pieces
/// (what gathering over tensor-parallel ranks leaves). Columns are [head][head_dim]. lse (rows × heads, same
/// row order) is the log-sum-exp of the scaled scores. Never holds positions × positions. Query head h reads
/// key/value head h / (heads / kv_heads).
struct AttentionArgs {
  TensorView q, k, v, out, lse, workspace;
  int64_t samples = 0, positions = 0, pieces = 1, heads = 0, kv_heads = 0, head_dim = 0;
  double scale = 1.0;
};

/// dq, dk, dv are overwritten. `out` and `lse` are the forward's.
struct AttentionBackwardArgs {
  TensorView q, k, v, out, lse, dout, dq, dk, dv, workspace;
  int64_t samples = 0, positions = 0, pieces = 1, heads = 0, kv_heads = 0, head_dim = 0;
  double scale = 1.0;
};

/// One chunk of the head's loss over a vocabulary slice: logits (rows × cols) are those of vocabulary ids
/// [vocab_begin, vocab_begin + cols); ids ≥ vocab are padding and count as −inf (gradient 0).
/// labels: i32 (1 × rows), −1 = ignored row: it adds nothing and gets gradient 0.
/// stats: 3 × rows, each statistic contiguous, so that a caller can reduce it over slices.
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
/// one length. gradient is multiplied by gradient_scale first and set to zero afterwards. `step` counts
/// from 1. eps is added to the root.
struct AdamWArgs {
  TensorView parameter, gradient, exp_avg, exp_avg_sq;
  std::vector<DecayRange> decay;  ///< in order, covering the views; weight_decay applies where `decays`
  double weight_decay = 0.0;
  double lr = 0, beta1 = 0.9, beta2 = 0.95, eps = 1e-8, gradient_scale = 1.0;
  int64_t step = 1;
};

class Kernels {
 public:
  virtual ~Kernels() = default;

  virtual void gemm(Stream&, const GemmArgs&) = 0;
  virtual void norm(Stream&, const NormArgs&) = 0;
  virtual void norm_backward(Stream&, const NormBackwardArgs&) = 0;
  /// y = f(x). swiglu: x has twice the columns of y, [gate | up].
  virtual void activation(Stream&, ActivationKind, TensorView x, TensorView y) = 0;
  /// dx = f'(x) · dy; dx may alias dy for gelu.
  virtual void activation_backward(Stream&, ActivationKind, TensorView x, TensorView dy, TensorView dx) = 0;
  virtual void attention(Stream&, const AttentionArgs&) = 0;
  virtual void attention_backward(Stream&, const AttentionBackwardArgs&) = 0;
  /// out = a + b (+ bias on every row, when present). out may alias a or b.
  virtual void add(Stream&, TensorView a, TensorView b, TensorView bias, TensorView out) = 0;
  /// out (1 × cols) += Σ over rows of x.
  virtual void column_sum(Stream&, TensorView x, TensorView out) = 0;
  /// out[i] = table[ids[i] − first_id] where that row exists, else 0. ids: i32 (1 × rows).
  virtual void embedding(Stream&, TensorView ids, TensorView table, int64_t first_id, TensorView out) = 0;
  /// dtable[ids[i] − first_id] += dout[i] where that row exists; the sum's order depends on nothing but the
  /// order of i.
  virtual void embedding_backward(Stream&, TensorView ids, TensorView dout, int64_t first_id,
                                  TensorView dtable) = 0;
  /// out[s·n + j] = x[s·n + j] + table[begin + j] for n = rows / samples. out may alias x.
  virtual void add_positions(Stream&, TensorView x, TensorView table, int64_t begin, int64_t samples,
                             TensorView out) = 0;
  /// dtable[begin + j] += Σ over samples of dout[s·n + j].
  virtual void add_positions_backward(Stream&, TensorView dout, int64_t begin, int64_t samples,
                                      TensorView dtable) = 0;
  virtual void cross_entropy(Stream&, const CrossEntropyArgs&) = 0;
  virtual void fill(Stream&, TensorView x, double value) = 0;
  virtual void copy(Stream&, TensorView from, TensorView to) = 0;
  virtual void adamw(Stream&, const AdamWArgs&) = 0;
  /// parameter −= lr · gradient_scale · gradient; gradient := 0.
  virtual void sgd(Stream&, TensorView parameter, TensorView gradient, double lr, double gradient_scale) = 0;
  /// out (one f64) += Σ x², summed in fp64 in a fixed order.
  virtual void sum_of_squares(Stream&, TensorView x, TensorView out) = 0;

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
