// GELU in its tanh form and SwiGLU. With z = 2u the tanh form x/2 · (1 + tanh u) is x · sigmoid(z), which
// needs one exponential and loses no digits where tanh is near −1.

#include "kernels/cpu/simd/families.hpp"
#include "kernels/cpu/simd/math.hpp"

namespace galvatron::kernels::GALVATRON_SIMD_LEVEL {
namespace {

constexpr float linear = 1.5957691216057308F;             // 2 · sqrt(2 / π)
constexpr float cubic = 1.5957691216057308F * 0.044715F;  // of z(x) = linear · x + cubic · x³

void gelu(const float* x, float* y, int64_t n) {
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) y[i] = x[i] * sigmoid(x[i] * (linear + cubic * x[i] * x[i]));
}

void gelu_backward(const float* x, const float* dy, float* dx, int64_t n) {
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) {
    const float square = x[i] * x[i];
    const float s = sigmoid(x[i] * (linear + cubic * square));
    const float slope = linear + 3.0F * cubic * square;
    dx[i] = dy[i] * (s + x[i] * s * (1.0F - s) * slope);
  }
}

void swiglu(const float* gate, const float* up, float* y, int64_t n) {
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) y[i] = gate[i] * sigmoid(gate[i]) * up[i];
}

void swiglu_backward(const float* gate, const float* up, const float* dy, float* dgate, float* dup,
                     int64_t n) {
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) {
    const float g = gate[i];
    const float u = up[i];
    const float d = dy[i];
    const float s = sigmoid(g);
    dgate[i] = d * u * s * (1.0F + g * (1.0F - s));
    dup[i] = d * g * s;
  }
}

}  // namespace

void add_activation(Simd& table) {
  table.gelu = gelu;
  table.gelu_backward = gelu_backward;
  table.swiglu = swiglu;
  table.swiglu_backward = swiglu_backward;
}

}  // namespace galvatron::kernels::GALVATRON_SIMD_LEVEL
