#pragma once
// The oracle: every compute step in fp64 on one thread, as plain loops that can be read against the formula.
// Shapes have been checked by the caller. The meaning of each is in kernels.hpp.

#include "kernels/kernels.hpp"

namespace galvatron::kernels::fp64 {

void gemm(const GemmArgs& args);
void norm(const NormArgs& args);
void norm_backward(const NormBackwardArgs& args);
void activation(ActivationKind kind, const TensorView& x, const TensorView& y);
void activation_backward(ActivationKind kind, const TensorView& x, const TensorView& dy,
                         const TensorView& dx);
void attention(const AttentionArgs& args);
void attention_backward(const AttentionBackwardArgs& args);
void add(const TensorView& a, const TensorView& b, const TensorView& bias, const TensorView& out);
void column_sum(const TensorView& x, const TensorView& out);
void embedding(const TensorView& ids, const TensorView& table, int64_t first_id, const TensorView& out);
void embedding_backward(const TensorView& ids, const TensorView& dout, int64_t first_id,
                        const TensorView& dtable);
void add_positions(const TensorView& x, const TensorView& table, const RowPositions& positions,
                   const TensorView& out);
void add_positions_backward(const TensorView& dout, const RowPositions& positions, const TensorView& dtable);
void rope(const RopeArgs& args);
void cross_entropy(const CrossEntropyArgs& args);
void fill(const TensorView& x, double value);
void adamw(const AdamWArgs& args);
void sgd(const TensorView& parameter, const TensorView& gradient, const TensorView& working, double lr,
         double gradient_scale);
void sum_of_squares(const TensorView& x, const TensorView& out);

}  // namespace galvatron::kernels::fp64
