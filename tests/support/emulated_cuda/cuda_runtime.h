// As cuda_runtime_api.h, for the kernels themselves: the words of the language and its built-in variables and
// functions. A block's threads are fibers of one thread of the host (machine.hpp); blocks run one after the
// other, so what a kernel keeps in shared memory may be thread-local.

#pragma once

#include <math.h>

#include <algorithm>
#include <cstring>

#include "support/emulated_cuda/cuda_runtime_api.h"
#include "support/emulated_cuda/machine.hpp"

#define __global__
#define __device__
#define __host__
#define __shared__ thread_local
#define __align__(bytes) __attribute__((aligned(bytes)))
#define __launch_bounds__(...)
#define __forceinline__ inline

struct float2 {
  float x, y;
};
struct alignas(16) float4 {
  float x, y, z, w;
};

inline thread_local dim3& threadIdx = emulated_cuda::here.thread;
inline thread_local dim3& blockIdx = emulated_cuda::here.block;
inline thread_local dim3& blockDim = emulated_cuda::here.threads;
inline thread_local dim3& gridDim = emulated_cuda::here.blocks;

inline void __syncthreads() {
  emulated_cuda::meet_block();
}

inline void __syncwarp(unsigned = 0xffffffffU) {
  emulated_cuda::meet_warp();
}

inline int __syncthreads_or(int predicate) {
  return emulated_cuda::any_of_block(predicate != 0) ? 1 : 0;
}

template <class V>
V __shfl_xor_sync(unsigned, V value, int mask, int = 32) {
  static_assert(sizeof(V) <= sizeof(emulated_cuda::Word));
  emulated_cuda::Word word{};
  std::memcpy(&word, &value, sizeof(V));
  word = emulated_cuda::word_of_lane(word, emulated_cuda::lane() ^ mask);
  std::memcpy(&value, &word, sizeof(V));
  return value;
}

inline unsigned __ballot_sync(unsigned, int predicate) {
  return emulated_cuda::votes_of_warp(predicate != 0);
}

inline int __popc(unsigned bits) {
  return __builtin_popcount(bits);
}

inline cudaError_t cudaFuncSetAttribute(const void*, cudaFuncAttribute, int bytes) {
  return bytes <= emulated_cuda::most_shared_bytes ? cudaSuccess : cudaErrorInvalidValue;
}

template <class... Params, class... Args>
cudaError_t cudaLaunchKernelEx(const cudaLaunchConfig_t* config, void (*kernel)(Params...), Args&&... args) {
  emulated_cuda::run(config->gridDim, config->blockDim, config->dynamicSmemBytes,
                     [&] { kernel(static_cast<Params>(args)...); });
  return cudaSuccess;
}
