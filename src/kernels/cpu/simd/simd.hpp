#pragma once
// The inner loops of the fp32 kernels as a table of functions. The files beside this one are compiled once
// per instruction-set level (simd/CMakeLists.txt), each into a namespace of its own, and the best level that
// the processor has is chosen at run time: one program runs on every node and uses what the node offers.
// Everything here is plain addresses and numbers, because an inline function shared between the levels could
// carry the highest level's instructions into code for the lowest.

#include <cstdint>

namespace galvatron::kernels {

/// Rows of a block of queries or keys in attention.
inline constexpr int64_t attention_block = 96;
/// Blocks of queries that go through the keys together in the forward, so that keys are packed less often.
inline constexpr int64_t attention_query_blocks = 2;

struct NormRow {
  const float *x, *gamma, *beta;  ///< beta may be null
  float *y, *stats;
  int64_t n;
  float eps;
  bool centred;  ///< LayerNorm takes the mean away, RMSNorm does not
};

struct NormBackwardRow {
  const float *x, *gamma, *dy, *residual, *stats;  ///< residual may be null
  float *dx, *dgamma, *dbeta;                      ///< sums of the parameters' gradients; dbeta may be null
  int64_t n;
  bool centred;
};

struct AdamWNumbers {
  float gradient_scale, beta1, beta2, one_minus_beta1, one_minus_beta2, decay_factor, step_size,
      inverse_root_correction2, eps;
};

/// Where the rows of one head are: token (sample, position) is row position / piece · samples · piece +
/// sample · piece + position % piece.
struct HeadTokens {
  int64_t sample, samples, piece, positions, head_dim;
};

/// Forward of `attention_query_blocks` blocks of queries of one head, from `first` on. Addresses are those of
/// the head's first column in row 0.
struct AttentionBlock {
  HeadTokens tokens;
  const float *q, *k, *v;
  float *out, *lse;
  int64_t q_stride, k_stride, v_stride, out_stride, lse_stride;
  int64_t first;
  float scale;
  float* scratch;
};

/// Backward through the keys [first, first + block) of one key/value head for all `group` query heads that
/// read it: stores dk and dv of the block, adds to dq. Addresses are those of the first head's first column
/// in row 0.
struct AttentionBackwardBlock {
  HeadTokens tokens;
  const float *q, *k, *v, *dout, *lse, *delta;
  float *dq, *dk, *dv;
  int64_t q_stride, k_stride, v_stride, dout_stride, lse_stride, delta_stride, dq_stride, dk_stride,
      dv_stride;
  int64_t group, first;
  float scale;
  float* scratch;
};

struct Simd {
  const char* level;

  void (*add)(const float* a, const float* b, float* out, int64_t n);
  void (*add_bias)(const float* a, const float* b, const float* bias, float* out, int64_t n);
  void (*scale)(float* x, float factor, int64_t n);
  /// (a, b) := (a · cosine − b · sine, a · sine + b · cosine), written to (y, z), which may be (a, b).
  void (*rotate)(const float* a, const float* b, const float* cosine, const float* sine, float* y, float* z,
                 int64_t n);
  float (*dot)(const float* a, const float* b, int64_t n);
  double (*sum_of_squares)(const float* x, int64_t n);
  void (*adamw)(float* p, float* g, float* m, float* v, int64_t n, const AdamWNumbers& numbers);
  void (*sgd)(float* p, float* g, int64_t n, float factor);

  void (*gelu)(const float* x, float* y, int64_t n);
  void (*gelu_backward)(const float* x, const float* dy, float* dx, int64_t n);
  void (*swiglu)(const float* gate, const float* up, float* y, int64_t n);
  void (*swiglu_backward)(const float* gate, const float* up, const float* dy, float* dgate, float* dup,
                          int64_t n);

  void (*norm)(const NormRow& row);
  void (*norm_backward)(const NormBackwardRow& row);

  float (*maximum)(const float* x, int64_t n);
  /// Σ exp(x − shift).
  double (*sum_exponentials)(const float* x, int64_t n, float shift);
  /// The same, and x := exp(x − shift).
  double (*exponentiate)(float* x, int64_t n, float shift);
  /// x := exp(x − shift) · factor.
  void (*exponentials)(float* x, int64_t n, float shift, float factor);

  void (*attention)(const AttentionBlock& block);
  void (*attention_backward)(const AttentionBackwardBlock& block);
};

/// The tables that this processor can run, best first.
struct SimdLevels {
  const Simd* table[3];
  int64_t count;
};

SimdLevels available_simd();

}  // namespace galvatron::kernels
