#pragma once
// How partial sums of columns become one: by a second kernel, in the order of the partial sums.

#include <cuda_runtime.h>

#include <cstdint>

namespace galvatron::kernels::cuda {

/// sums[j] += Σ over p of partial[p · stride + j], for `cols` columns.
void add_partial_sums(cudaStream_t stream, const float* partial, int64_t parts, int64_t stride, int64_t cols,
                      float* sums);

}  // namespace galvatron::kernels::cuda
