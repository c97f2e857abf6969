#pragma once
// The loops over single elements and single rows, typed by how a number lies in memory: one table of
// functions per element type. All arithmetic is fp32; what is stored as T is rounded once, at the end.

#include <cstdint>

namespace galvatron::kernels {

/// The upper half of an fp32.
struct Bf16 {
  uint16_t bits;
};

/// IEEE 754 binary16.
struct F16 {
  uint16_t bits;
};

template <class T>
struct NormRow {
  const T *x, *gamma, *beta;  ///< beta may be null
  T* y;
  float* stats;
  int64_t n;
  float eps;
  bool centred;  ///< LayerNorm takes the mean away, RMSNorm does not
};

template <class T>
struct NormBackwardRow {
  const T *x, *gamma, *dy, *residual;  ///< residual may be null
  const float* stats;
  T* dx;
  float *dgamma, *dbeta;  ///< sums of the parameters' gradients; dbeta may be null
  int64_t n;
  bool centred;
};

struct AdamWNumbers {
  float gradient_scale, beta1, beta2, one_minus_beta1, one_minus_beta2, decay_factor, step_size,
      inverse_root_correction2, eps;
};

template <class T>
struct ElementTable {
  void (*widen)(const T* from, float* to, int64_t n);
  void (*narrow)(const float* from, T* to, int64_t n);

  void (*add)(const T* a, const T* b, T* out, int64_t n);
  void (*add_bias)(const T* a, const T* b, const T* bias, T* out, int64_t n);
  /// sum += x.
  void (*accumulate)(const T* x, float* sum, int64_t n);
  /// (a, b) := (a · cosine − b · sine, a · sine + b · cosine), written to (y, z), which may be (a, b).
  void (*rotate)(const T* a, const T* b, const float* cosine, const float* sine, T* y, T* z, int64_t n);

  /// working may be null: then the parameters themselves are what is worked with.
  void (*adamw)(float* p, float* g, float* m, float* v, T* working, int64_t n, const AdamWNumbers& numbers);
  void (*sgd)(float* p, float* g, T* working, int64_t n, float factor);

  void (*gelu)(const T* x, T* y, int64_t n);
  void (*gelu_backward)(const T* x, const T* dy, T* dx, int64_t n);
  void (*swiglu)(const T* gate, const T* up, T* y, int64_t n);
  void (*swiglu_backward)(const T* gate, const T* up, const T* dy, T* dgate, T* dup, int64_t n);

  void (*norm)(const NormRow<T>& row);
  void (*norm_backward)(const NormBackwardRow<T>& row);

  float (*maximum)(const T* x, int64_t n);
  /// Σ exp(x − shift).
  double (*sum_exponentials)(const T* x, int64_t n, float shift);
  /// x := exp(x − shift) · factor.
  void (*exponentials)(T* x, int64_t n, float shift, float factor);
};

}  // namespace galvatron::kernels
