// GELU in its tanh form and SwiGLU. With z = 2u the tanh form x/2 · (1 + tanh u) is x · sigmoid(z), which
// needs one exponential and loses no digits where tanh is near −1.

#include "kernels/cpu/simd/elements.hpp"
#include "kernels/cpu/simd/families.hpp"
#include "kernels/cpu/simd/math.hpp"

namespace galvatron::kernels::GALVATRON_SIMD_LEVEL {
namespace {

constexpr float linear = 1.5957691216057308F;             // 2 · sqrt(2 / π)
constexpr float cubic = 1.5957691216057308F * 0.044715F;  // of z(x) = linear · x + cubic · x³

template <class T>
void gelu(const T* x, T* y, int64_t n) {
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) {
    const float in = widen(x[i]);
    narrow(in * sigmoid(in * (linear + cubic * in * in)), y[i]);
  }
}

template <class T>
void gelu_backward(const T* x, const T* dy, T* dx, int64_t n) {
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) {
    const float in = widen(x[i]);
    const float square = in * in;
    const float s = sigmoid(in * (linear + cubic * square));
    const float slope = linear + 3.0F * cubic * square;
    narrow(widen(dy[i]) * (s + in * s * (1.0F - s) * slope), dx[i]);
  }
}

template <class T>
void swiglu(const T* gate, const T* up, T* y, int64_t n) {
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) {
    const float g = widen(gate[i]);
    narrow(g * sigmoid(g) * widen(up[i]), y[i]);
  }
}

template <class T>
void swiglu_backward(const T* gate, const T* up, const T* dy, T* dgate, T* dup, int64_t n) {
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) {
    const float g = widen(gate[i]);
    const float u = widen(up[i]);
    const float d = widen(dy[i]);
    const float s = sigmoid(g);
    narrow(d * u * s * (1.0F + g * (1.0F - s)), dgate[i]);
    narrow(d * g * s, dup[i]);
  }
}

template <class T>
void add_elements(ElementTable<T>& table) {
  table.gelu = gelu;
  table.gelu_backward = gelu_backward;
  table.swiglu = swiglu;
  table.swiglu_backward = swiglu_backward;
}

}  // namespace

void add_activation(Simd& table) {
  add_elements(table.f32);
  add_elements(table.bf16);
  add_elements(table.f16);
}

}  // namespace galvatron::kernels::GALVATRON_SIMD_LEVEL
