#pragma once
// One function per compute step: queues the kernels for it on a stream. Shapes have been checked. Elements
// are f32, bf16 or f16; arithmetic and sums are fp32.

#include <cuda_runtime_api.h>

#include "kernels/kernels.hpp"

namespace galvatron::kernels::cuda {

/// Device memory for partial sums of the steps whose arguments hold no workspace: one step at a time.
struct Scratch {
  std::byte* data = nullptr;
  int64_t bytes = 0;
};

constexpr int64_t scratch_bytes = 4 << 20;

void norm(cudaStream_t stream, const NormArgs& args);
void norm_backward(cudaStream_t stream, const NormBackwardArgs& args);
void activation(cudaStream_t stream, ActivationKind kind, const TensorView& x, const TensorView& y);
void activation_backward(cudaStream_t stream, ActivationKind kind, const TensorView& x, const TensorView& dy,
                         const TensorView& dx);
void attention(cudaStream_t stream, const AttentionArgs& args);
void attention_backward(cudaStream_t stream, const AttentionBackwardArgs& args);
void add(cudaStream_t stream, const TensorView& a, const TensorView& b, const TensorView& bias,
         const TensorView& out);
void column_sum(cudaStream_t stream, const TensorView& x, const TensorView& out, const Scratch& scratch);
void embedding(cudaStream_t stream, const TensorView& ids, const TensorView& table, int64_t first_id,
               const TensorView& out);
void embedding_backward(cudaStream_t stream, const TensorView& ids, const TensorView& dout, int64_t first_id,
                        const TensorView& dtable);
void add_positions(cudaStream_t stream, const TensorView& x, const TensorView& table,
                   const RowPositions& positions, const TensorView& out);
void add_positions_backward(cudaStream_t stream, const TensorView& dout, const RowPositions& positions,
                            const TensorView& dtable);
void rope(cudaStream_t stream, const RopeArgs& args);
void cross_entropy(cudaStream_t stream, const CrossEntropyArgs& args, const Scratch& scratch);
/// f64 too.
void fill(cudaStream_t stream, const TensorView& x, double value);
/// Elements of any one type, or a conversion between f32 and a type of 16 bits.
void copy(cudaStream_t stream, const TensorView& from, const TensorView& to);
void adamw(cudaStream_t stream, const AdamWArgs& args);
void sgd(cudaStream_t stream, const TensorView& parameter, const TensorView& gradient,
         const TensorView& working, double lr, double gradient_scale);
void sum_of_squares(cudaStream_t stream, const TensorView& x, const TensorView& out, const Scratch& scratch);

/// Every row of `to` (f32) becomes `row`.
void repeat_row(cudaStream_t stream, const TensorView& row, const TensorView& to);

/// Any product, slowly: for operands that cuBLASLt has no kernel for.
void gemm_by_tiles(cudaStream_t stream, const GemmArgs& args);

/// Into how many partial sums the rows of a norm's backward are dealt.
int64_t norm_backward_shares(int64_t rows);
int64_t norm_backward_bytes(const NormBackwardArgs& args);
int64_t attention_backward_bytes(const AttentionBackwardArgs& args);

}  // namespace galvatron::kernels::cuda
