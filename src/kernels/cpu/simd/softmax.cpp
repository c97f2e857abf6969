// The passes of a softmax over a long row. Sums run in fp32 over a short stretch and in fp64 over stretches,
// because a vocabulary is long enough for fp32 to lose the digits that the loss is compared in.

#include "kernels/cpu/simd/elements.hpp"
#include "kernels/cpu/simd/families.hpp"
#include "kernels/cpu/simd/math.hpp"

namespace galvatron::kernels::GALVATRON_SIMD_LEVEL {
namespace {

constexpr int64_t stretch = 512;
constexpr int64_t lanes = 32;

int64_t least(int64_t a, int64_t b) {
  return a < b ? a : b;
}

float larger(float a, float b) {
  return a > b ? a : b;
}

/// A NaN anywhere gives NaN or the maximum of the rest; the sum of exponentials then shows it.
template <class T>
float maximum(const T* x, int64_t n) {
  float best[lanes];
  for (auto& value : best) value = -__builtin_inff();
  int64_t i = 0;
  for (; i + lanes <= n; i += lanes) {
#pragma omp simd
    for (int64_t l = 0; l < lanes; ++l) best[l] = larger(widen(x[i + l]), best[l]);
  }
  for (; i < n; ++i) best[0] = larger(widen(x[i]), best[0]);
  for (const auto value : best) best[0] = larger(value, best[0]);
  return best[0];
}

template <class T>
double sum_exponentials(const T* x, int64_t n, float shift) {
  double total = 0;
  for (int64_t begin = 0; begin < n; begin += stretch) {
    const auto end = least(n, begin + stretch);
    float sum = 0;
#pragma omp simd reduction(+ : sum)
    for (int64_t i = begin; i < end; ++i) sum += exp_of(widen(x[i]) - shift);
    total += static_cast<double>(sum);
  }
  return total;
}

double exponentiate(float* x, int64_t n, float shift) {
  double total = 0;
  for (int64_t begin = 0; begin < n; begin += stretch) {
    const auto end = least(n, begin + stretch);
    float sum = 0;
#pragma omp simd reduction(+ : sum)
    for (int64_t i = begin; i < end; ++i) {
      const float value = exp_of(x[i] - shift);
      x[i] = value;
      sum += value;
    }
    total += static_cast<double>(sum);
  }
  return total;
}

template <class T>
void exponentials(T* x, int64_t n, float shift, float factor) {
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) narrow(exp_of(widen(x[i]) - shift) * factor, x[i]);
}

template <class T>
void add_elements(ElementTable<T>& table) {
  table.maximum = maximum;
  table.sum_exponentials = sum_exponentials;
  table.exponentials = exponentials;
}

}  // namespace

void add_softmax(Simd& table) {
  add_elements(table.f32);
  add_elements(table.bf16);
  add_elements(table.f16);
  table.exponentiate = exponentiate;
}

}  // namespace galvatron::kernels::GALVATRON_SIMD_LEVEL
