// Loops that are bound by memory: conversions, sums, optimizers.

#include "kernels/cpu/simd/elements.hpp"
#include "kernels/cpu/simd/families.hpp"

namespace galvatron::kernels::GALVATRON_SIMD_LEVEL {
namespace {

template <class T>
void widen_all(const T* from, float* to, int64_t n) {
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) to[i] = widen(from[i]);
}

template <class T>
void narrow_all(const float* from, T* to, int64_t n) {
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) narrow(from[i], to[i]);
}

template <class T>
void add(const T* a, const T* b, T* out, int64_t n) {
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) narrow(widen(a[i]) + widen(b[i]), out[i]);
}

template <class T>
void add_bias(const T* a, const T* b, const T* bias, T* out, int64_t n) {
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) narrow(widen(a[i]) + widen(b[i]) + widen(bias[i]), out[i]);
}

template <class T>
void accumulate(const T* x, float* sum, int64_t n) {
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) sum[i] += widen(x[i]);
}

template <class T>
void rotate(const T* a, const T* b, const float* cosine, const float* sine, T* y, T* z, int64_t n) {
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) {
    const float first = widen(a[i]);
    const float second = widen(b[i]);
    narrow(first * cosine[i] - second * sine[i], y[i]);
    narrow(first * sine[i] + second * cosine[i], z[i]);
  }
}

/// Updates moments and parameter of one element and returns the parameter.
inline float adamw_element(float& p, float& g, float& m, float& v, const AdamWNumbers& c) {
  const float gradient = g * c.gradient_scale;
  const float first = c.beta1 * m + c.one_minus_beta1 * gradient;
  const float second = c.beta2 * v + c.one_minus_beta2 * gradient * gradient;
  m = first;
  v = second;
  const float root = __builtin_sqrtf(second) * c.inverse_root_correction2 + c.eps;
  p = p * c.decay_factor - c.step_size * first / root;
  g = 0.0F;
  return p;
}

template <class T>
void adamw(float* p, float* g, float* m, float* v, T* working, int64_t n, const AdamWNumbers& numbers) {
  const auto c = numbers;
  if (working) {
#pragma omp simd
    for (int64_t i = 0; i < n; ++i) narrow(adamw_element(p[i], g[i], m[i], v[i], c), working[i]);
  } else {
#pragma omp simd
    for (int64_t i = 0; i < n; ++i) adamw_element(p[i], g[i], m[i], v[i], c);
  }
}

template <class T>
void sgd(float* p, float* g, T* working, int64_t n, float factor) {
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) {
    p[i] -= factor * g[i];
    g[i] = 0.0F;
  }
  if (working) narrow_all(p, working, n);
}

void scale(float* x, float factor, int64_t n) {
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) x[i] *= factor;
}

double sum_of_squares(const float* x, int64_t n) {
  double sum = 0;
#pragma omp simd reduction(+ : sum)
  for (int64_t i = 0; i < n; ++i) sum += static_cast<double>(x[i]) * static_cast<double>(x[i]);
  return sum;
}

template <class T>
void add_elements(ElementTable<T>& table) {
  table.widen = widen_all;
  table.narrow = narrow_all;
  table.add = add;
  table.add_bias = add_bias;
  table.accumulate = accumulate;
  table.rotate = rotate;
  table.adamw = adamw;
  table.sgd = sgd;
}

}  // namespace

void add_elementwise(Simd& table) {
  add_elements(table.f32);
  add_elements(table.bf16);
  add_elements(table.f16);
  table.scale = scale;
  table.sum_of_squares = sum_of_squares;
}

}  // namespace galvatron::kernels::GALVATRON_SIMD_LEVEL
