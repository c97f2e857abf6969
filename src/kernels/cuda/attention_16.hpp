#pragma once
// Attention on bf16 and fp16 by tensor cores, for heads of at most 128 columns.

#include <cuda_runtime_api.h>

#include "kernels/kernels.hpp"

namespace galvatron::kernels::cuda {

void attention_16(cudaStream_t stream, const AttentionArgs& args);
/// `delta`: Σ dout · out per row and head.
void attention_backward_16(cudaStream_t stream, const AttentionBackwardArgs& args, const float* delta);

}  // namespace galvatron::kernels::cuda
