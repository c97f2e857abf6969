#pragma once
// Stands in for the tensor cores: gathers what the lanes hold and sums in fp32, by the layout that the real
// header documents.

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>

namespace galvatron::kernels::cuda {

/// Element `high` of a pair of 16-bit elements.
template <class T>
float element_of(unsigned pair, int high);
template <>
inline float element_of<__nv_bfloat16>(unsigned pair, int high) {
  return core::bf16_to_f32(static_cast<uint16_t>(pair >> (16 * high)));
}
template <>
inline float element_of<__half>(unsigned pair, int high) {
  return core::f16_to_f32(static_cast<uint16_t>(pair >> (16 * high)));
}

template <class T>
void warp_multiply_add(float (&c)[4], const unsigned (&a)[4], unsigned b0, unsigned b1) {
  const int g = emulated_cuda::lane() / 4;
  const int t = emulated_cuda::lane() % 4;
  const auto at = [](int lane, int held, int high) {
    return element_of<T>(emulated_cuda::registers_of(lane)[static_cast<size_t>(held)], high);
  };
  emulated_cuda::show_registers({a[0], a[1], a[2], a[3], b0, b1}, [&] {
    for (int n = 0; n < 4; ++n) {
      const int row = n / 2;  // g or g + 8
      const int col = 2 * t + n % 2;
      for (int k = 0; k < 16; ++k) {
        const int pair = k % 8 / 2;
        c[n] += at(4 * g + pair, row + 2 * (k / 8), k % 2) * at(4 * col + pair, 4 + k / 8, k % 2);
      }
    }
  });
}

}  // namespace galvatron::kernels::cuda
