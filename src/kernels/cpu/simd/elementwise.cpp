// Loops that are bound by memory: sums, optimizers.

#include "kernels/cpu/simd/families.hpp"

namespace galvatron::kernels::GALVATRON_SIMD_LEVEL {
namespace {

void add(const float* a, const float* b, float* out, int64_t n) {
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) out[i] = a[i] + b[i];
}

void add_bias(const float* a, const float* b, const float* bias, float* out, int64_t n) {
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) out[i] = a[i] + b[i] + bias[i];
}

void scale(float* x, float factor, int64_t n) {
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) x[i] *= factor;
}

void rotate(const float* a, const float* b, const float* cosine, const float* sine, float* y, float* z,
            int64_t n) {
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) {
    const float first = a[i];
    const float second = b[i];
    y[i] = first * cosine[i] - second * sine[i];
    z[i] = first * sine[i] + second * cosine[i];
  }
}

float dot(const float* a, const float* b, int64_t n) {
  float sum = 0;
#pragma omp simd reduction(+ : sum)
  for (int64_t i = 0; i < n; ++i) sum += a[i] * b[i];
  return sum;
}

double sum_of_squares(const float* x, int64_t n) {
  double sum = 0;
#pragma omp simd reduction(+ : sum)
  for (int64_t i = 0; i < n; ++i) sum += static_cast<double>(x[i]) * static_cast<double>(x[i]);
  return sum;
}

void adamw(float* p, float* g, float* m, float* v, int64_t n, const AdamWNumbers& numbers) {
  const auto c = numbers;
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) {
    const float gradient = g[i] * c.gradient_scale;
    const float first = c.beta1 * m[i] + c.one_minus_beta1 * gradient;
    const float second = c.beta2 * v[i] + c.one_minus_beta2 * gradient * gradient;
    m[i] = first;
    v[i] = second;
    const float root = __builtin_sqrtf(second) * c.inverse_root_correction2 + c.eps;
    p[i] = p[i] * c.decay_factor - c.step_size * first / root;
    g[i] = 0.0F;
  }
}

void sgd(float* p, float* g, int64_t n, float factor) {
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) {
    p[i] -= factor * g[i];
    g[i] = 0.0F;
  }
}

}  // namespace

void add_elementwise(Simd& table) {
  table.add = add;
  table.add_bias = add_bias;
  table.scale = scale;
  table.rotate = rotate;
  table.dot = dot;
  table.sum_of_squares = sum_of_squares;
  table.adamw = adamw;
  table.sgd = sgd;
}

}  // namespace galvatron::kernels::GALVATRON_SIMD_LEVEL
