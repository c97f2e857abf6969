#pragma once
// The tensor cores' product of a warp: 16 × 8 sums of 16 products of 16-bit elements, in fp32. Lane 4g + t
// holds of a (16 × 16) the pairs of columns 2t and 2t + 8 of rows g and g + 8, of b (16 × 8, by columns) the
// pairs of rows 2t and 2t + 8 of column g, and of c columns 2t and 2t + 1 of rows g and g + 8.

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>

namespace galvatron::kernels::cuda {

/// c += a · b. a: (g, 2t), (g + 8, 2t), (g, 2t + 8), (g + 8, 2t + 8); b: (2t, g), (2t + 8, g).
template <class T>
__device__ void warp_multiply_add(float (&c)[4], const unsigned (&a)[4], unsigned b0, unsigned b1);

template <>
__device__ inline void warp_multiply_add<__nv_bfloat16>(float (&c)[4], const unsigned (&a)[4], unsigned b0,
                                                        unsigned b1) {
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
      "{%0, %1, %2, %3};"
      : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

template <>
__device__ inline void warp_multiply_add<__half>(float (&c)[4], const unsigned (&a)[4], unsigned b0,
                                                 unsigned b1) {
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
      "{%0, %1, %2, %3};"
      : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

}  // namespace galvatron::kernels::cuda
