#pragma once
// The formulas of single elements, in fp32, usable on both sides.

#include <cuda_runtime.h>

#include <cmath>

namespace galvatron::kernels::cuda {

__host__ __device__ inline float sigmoid(float x) {
  return 1.0F / (1.0F + expf(-x));
}

/// 2u of gelu(x) = x/2 · (1 + tanh u) (Hendrycks and Gimpel, arXiv 1606.08415, the tanh form), which is
/// x · sigmoid(2u): no difference of nearly equal numbers.
__host__ __device__ inline float gelu_argument(float x) {
  constexpr float twice_root = 1.5957691216057308F;  // 2 · √(2/π)
  return twice_root * (x + 0.044715F * x * x * x);
}

__host__ __device__ inline float gelu(float x) {
  return x * sigmoid(gelu_argument(x));
}

__host__ __device__ inline float gelu_slope(float x) {
  constexpr float twice_root = 1.5957691216057308F;
  const float s = sigmoid(gelu_argument(x));
  return s + x * s * (1.0F - s) * twice_root * (1.0F + 3.0F * 0.044715F * x * x);
}

__host__ __device__ inline float silu(float x) {
  return x * sigmoid(x);
}

__host__ __device__ inline float silu_slope(float x) {
  const float s = sigmoid(x);
  return s * (1.0F + x * (1.0F - s));
}

/// Constants of one AdamW step; corrections are 1 / (1 − βᵗ).
struct AdamWStep {
  float lr, beta1, beta2, eps, gradient_scale, decay, correction1, correction2;
};

/// Updates a parameter and its moments; `decays`: its tensor is decayed.
__host__ __device__ inline void adamw_element(const AdamWStep& s, float gradient, bool decays, float& m,
                                              float& v, float& parameter) {
  const float g = gradient * s.gradient_scale;
  m = s.beta1 * m + (1.0F - s.beta1) * g;
  v = s.beta2 * v + (1.0F - s.beta2) * g * g;
  if (decays) parameter -= s.lr * s.decay * parameter;
  parameter -= s.lr * (m * s.correction1) / (sqrtf(v * s.correction2) + s.eps);
}

/// A maximum and the sum of exponentials below it, as seen so far: x joins them. −inf adds nothing, NaN and a
/// second +inf make the sum NaN.
__host__ __device__ inline void join_softmax(float x, float& maximum, float& sum) {
  if (x > maximum) {
    sum = sum * expf(maximum - x) + 1.0F;
    maximum = x;
  } else if (x != -INFINITY) {
    sum += expf(x - maximum);
  }
}

}  // namespace galvatron::kernels::cuda
