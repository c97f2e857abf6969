#pragma once
// Starts a kernel on a stream, and says how many blocks a matrix needs. Every launch goes through here, so
// that every error is seen where it arises and no size is cut to 32 bits.

#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>

#include "core/errors.hpp"
#include "device/cuda/check.hpp"

namespace galvatron::kernels::cuda {

constexpr int64_t block_threads = 256;
/// Shared memory that a block gets without asking.
constexpr int64_t plain_shared_bytes = 48 << 10;

/// The dynamic shared memory of a block, as large as the launch says.
extern __shared__ __align__(16) unsigned char dynamic_shared[];

constexpr int64_t ceil_div(int64_t a, int64_t b) {
  return (a + b - 1) / b;
}

/// Nothing happens where a dim of the grid is 0. `shared`: bytes of dynamic shared memory.
template <class... Params, class... Args>
void launch(cudaStream_t stream, dim3 grid, int64_t threads, int64_t shared, void (*kernel)(Params...),
            Args... args) {
  if (grid.x == 0 || grid.y == 0 || grid.z == 0) return;
  if (shared > plain_shared_bytes) {
    GALV_CUDA(cudaFuncSetAttribute(reinterpret_cast<const void*>(kernel),
                                   cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(shared)));
  }
  cudaLaunchConfig_t config{};
  config.gridDim = grid;
  config.blockDim = dim3(static_cast<unsigned>(threads));
  config.dynamicSmemBytes = static_cast<size_t>(shared);
  config.stream = stream;
  GALV_CUDA(cudaLaunchKernelEx(&config, kernel, static_cast<Params>(args)...));
}

/// A grid for `count` blocks' worth of work; kernels walk on in steps of the grid, so `most` only bounds it.
inline dim3 line_grid(int64_t count, int64_t most = 1 << 16) {
  return dim3(static_cast<unsigned>(std::clamp<int64_t>(count, 0, most)));
}

/// A grid for rows × cols elements, `pack` of them a thread.
inline dim3 plane_grid(int64_t rows, int64_t cols, int64_t pack) {
  const auto x = std::clamp<int64_t>(ceil_div(cols, pack * block_threads), 0, 1 << 16);
  return dim3(static_cast<unsigned>(x), static_cast<unsigned>(std::clamp<int64_t>(rows, 0, 65535)));
}

/// Exactly `blocks`: for kernels that do not walk on.
inline dim3 block_grid(int64_t blocks) {
  GALV_ASSERT(blocks <= int64_t{0x7fffffff}, blocks);
  return dim3(static_cast<unsigned>(blocks));
}

/// One block per row, any number of rows.
inline dim3 row_grid(int64_t rows) {
  return line_grid(rows, int64_t{1} << 30);
}

}  // namespace galvatron::kernels::cuda
