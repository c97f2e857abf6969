#pragma once
// Sums and maxima over the threads of a block. The order is fixed by the threads' numbers, so the same launch
// gives the same bits. All threads of the block call, all get the result.

#include <cuda_runtime.h>

namespace galvatron::kernels::cuda {

constexpr unsigned whole_warp = 0xffffffffU;

struct Sum {
  template <class V>
  __device__ V operator()(V a, V b) const {
    return a + b;
  }
};

/// A NaN does not come through; sums that follow show it.
struct Maximum {
  __device__ float operator()(float a, float b) const { return fmaxf(a, b); }
};

template <class V, class Join>
__device__ V warp_join(V value, Join join) {
  for (int distance = 16; distance > 0; distance /= 2)
    value = join(value, __shfl_xor_sync(whole_warp, value, distance));
  return value;
}

/// Threads of a block: a multiple of 32, at most 1024.
template <class V, class Join>
__device__ V block_join(V value, Join join) {
  __shared__ V parts[32];
  const unsigned warps = blockDim.x / 32;
  value = warp_join(value, join);
  __syncthreads();  // the parts of the call before are read
  if (threadIdx.x % 32 == 0) parts[threadIdx.x / 32] = value;
  __syncthreads();
  value = parts[0];
  for (unsigned w = 1; w < warps; ++w) value = join(value, parts[w]);
  return value;
}

template <class V>
__device__ V block_sum(V value) {
  return block_join(value, Sum{});
}

__device__ inline float block_maximum(float value) {
  return block_join(value, Maximum{});
}

}  // namespace galvatron::kernels::cuda
