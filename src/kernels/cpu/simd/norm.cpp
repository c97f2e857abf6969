// One row of LayerNorm or RMSNorm: two passes for the moments (the row is in the first-level cache), one to
// write. The variance is taken about the mean and not from the squares, which would cancel.

#include "kernels/cpu/simd/elements.hpp"
#include "kernels/cpu/simd/families.hpp"

namespace galvatron::kernels::GALVATRON_SIMD_LEVEL {
namespace {

template <class T>
float mean_of(const T* x, int64_t n) {
  float sum = 0;
#pragma omp simd reduction(+ : sum)
  for (int64_t i = 0; i < n; ++i) sum += widen(x[i]);
  return sum / static_cast<float>(n);
}

template <class T>
float variance_about(float mean, const T* x, int64_t n) {
  float sum = 0;
#pragma omp simd reduction(+ : sum)
  for (int64_t i = 0; i < n; ++i) {
    const float distance = widen(x[i]) - mean;
    sum += distance * distance;
  }
  return sum / static_cast<float>(n);
}

template <class T>
void norm(const NormRow<T>& row) {
  const auto [x, gamma, beta, y, stats, n, eps, centred] = row;
  const float mean = centred ? mean_of(x, n) : 0.0F;
  const float inverse = 1.0F / __builtin_sqrtf(variance_about(mean, x, n) + eps);
  if (beta) {
#pragma omp simd
    for (int64_t i = 0; i < n; ++i)
      narrow((widen(x[i]) - mean) * inverse * widen(gamma[i]) + widen(beta[i]), y[i]);
  } else {
#pragma omp simd
    for (int64_t i = 0; i < n; ++i) narrow((widen(x[i]) - mean) * inverse * widen(gamma[i]), y[i]);
  }
  stats[0] = mean;
  stats[1] = inverse;
}

template <class T>
void norm_backward(const NormBackwardRow<T>& row) {
  const auto [x, gamma, dy, residual, stats, dx, dgamma, dbeta, n, centred] = row;
  const float mean = stats[0];
  const float inverse = stats[1];
  float sum = 0;        // of the gradient at the normalised value
  float projected = 0;  // of that times the normalised value
#pragma omp simd reduction(+ : sum, projected)
  for (int64_t i = 0; i < n; ++i) {
    const float normalised = (widen(x[i]) - mean) * inverse;
    const float inner = widen(dy[i]) * widen(gamma[i]);
    sum += inner;
    projected += inner * normalised;
    dgamma[i] += widen(dy[i]) * normalised;
  }
  if (dbeta) {
#pragma omp simd
    for (int64_t i = 0; i < n; ++i) dbeta[i] += widen(dy[i]);
  }
  const float shift = centred ? sum / static_cast<float>(n) : 0.0F;
  const float slope = projected / static_cast<float>(n);
  const auto gradient = [=](int64_t i) {
    const float normalised = (widen(x[i]) - mean) * inverse;
    return inverse * (widen(dy[i]) * widen(gamma[i]) - shift - normalised * slope);
  };
  if (residual) {
#pragma omp simd
    for (int64_t i = 0; i < n; ++i) narrow(gradient(i) + widen(residual[i]), dx[i]);
  } else {
#pragma omp simd
    for (int64_t i = 0; i < n; ++i) narrow(gradient(i), dx[i]);
  }
}

template <class T>
void add_elements(ElementTable<T>& table) {
  table.norm = norm;
  table.norm_backward = norm_backward;
}

}  // namespace

void add_norm(Simd& table) {
  add_elements(table.f32);
  add_elements(table.bf16);
  add_elements(table.f16);
}

}  // namespace galvatron::kernels::GALVATRON_SIMD_LEVEL
