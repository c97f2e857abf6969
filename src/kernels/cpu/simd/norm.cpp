// One row of LayerNorm or RMSNorm: two passes for the moments (the row is in the first-level cache), one to
// write. The variance is taken about the mean and not from the squares, which would cancel.

#include "kernels/cpu/simd/families.hpp"

namespace galvatron::kernels::GALVATRON_SIMD_LEVEL {
namespace {

float mean_of(const float* x, int64_t n) {
  float sum = 0;
#pragma omp simd reduction(+ : sum)
  for (int64_t i = 0; i < n; ++i) sum += x[i];
  return sum / static_cast<float>(n);
}

float variance_about(float mean, const float* x, int64_t n) {
  float sum = 0;
#pragma omp simd reduction(+ : sum)
  for (int64_t i = 0; i < n; ++i) sum += (x[i] - mean) * (x[i] - mean);
  return sum / static_cast<float>(n);
}

void norm(const NormRow& row) {
  const auto [x, gamma, beta, y, stats, n, eps, centred] = row;
  const float mean = centred ? mean_of(x, n) : 0.0F;
  const float inverse = 1.0F / __builtin_sqrtf(variance_about(mean, x, n) + eps);
  if (beta) {
#pragma omp simd
    for (int64_t i = 0; i < n; ++i) y[i] = (x[i] - mean) * inverse * gamma[i] + beta[i];
  } else {
#pragma omp simd
    for (int64_t i = 0; i < n; ++i) y[i] = (x[i] - mean) * inverse * gamma[i];
  }
  stats[0] = mean;
  stats[1] = inverse;
}

void norm_backward(const NormBackwardRow& row) {
  const auto [x, gamma, dy, residual, stats, dx, dgamma, dbeta, n, centred] = row;
  const float mean = stats[0];
  const float inverse = stats[1];
  float sum = 0;        // of the gradient at the normalised value
  float projected = 0;  // of that times the normalised value
#pragma omp simd reduction(+ : sum, projected)
  for (int64_t i = 0; i < n; ++i) {
    const float normalised = (x[i] - mean) * inverse;
    const float inner = dy[i] * gamma[i];
    sum += inner;
    projected += inner * normalised;
    dgamma[i] += dy[i] * normalised;
  }
  if (dbeta) {
#pragma omp simd
    for (int64_t i = 0; i < n; ++i) dbeta[i] += dy[i];
  }
  const float shift = centred ? sum / static_cast<float>(n) : 0.0F;
  const float slope = projected / static_cast<float>(n);
  if (residual) {
#pragma omp simd
    for (int64_t i = 0; i < n; ++i) {
      const float normalised = (x[i] - mean) * inverse;
      dx[i] = inverse * (dy[i] * gamma[i] - shift - normalised * slope) + residual[i];
    }
  } else {
#pragma omp simd
    for (int64_t i = 0; i < n; ++i) {
      const float normalised = (x[i] - mean) * inverse;
      dx[i] = inverse * (dy[i] * gamma[i] - shift - normalised * slope);
    }
  }
}

}  // namespace

void add_norm(Simd& table) {
  table.norm = norm;
  table.norm_backward = norm_backward;
}

}  // namespace galvatron::kernels::GALVATRON_SIMD_LEVEL
