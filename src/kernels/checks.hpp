#pragma once
// What must hold between the shapes of a call, once for all back ends: a program that passes the dry run
// passes here on any device. Each throws core::InternalError that names the call, the operand, its shape and
// what was expected.

#include "kernels/kernels.hpp"

namespace galvatron::kernels::checks {

void gemm(const GemmArgs& args);
/// What follows a product of these (checked) arguments.
void epilogue(const GemmArgs& args, const Epilogue& epilogue);
void norm(const NormArgs& args);
void norm_backward(const NormBackwardArgs& args);
void activation(ActivationKind kind, const TensorView& x, const TensorView& y);
void activation_backward(ActivationKind kind, const TensorView& x, const TensorView& dy,
                         const TensorView& dx);
void attention(const AttentionArgs& args);
void attention_backward(const AttentionBackwardArgs& args);
void add(const TensorView& a, const TensorView& b, const TensorView& bias, const TensorView& out);
void column_sum(const TensorView& x, const TensorView& out);
void embedding(const TensorView& ids, const TensorView& table, const TensorView& out);
void embedding_backward(const TensorView& ids, const TensorView& dout, const TensorView& dtable);
void add_positions(const TensorView& x, const TensorView& table, const RowPositions& positions,
                   const TensorView& out);
void add_positions_backward(const TensorView& dout, const RowPositions& positions, const TensorView& dtable);
void rope(const RopeArgs& args);
void cross_entropy(const CrossEntropyArgs& args);
void fill(const TensorView& x);
void copy(const TensorView& from, const TensorView& to);
void adamw(const AdamWArgs& args);
void sgd(const TensorView& parameter, const TensorView& gradient, const TensorView& working);
void sum_of_squares(const TensorView& x, const TensorView& out);

/// The workspace of a call holds at least `bytes`.
void workspace(const char* call, const TensorView& view, int64_t bytes);

}  // namespace galvatron::kernels::checks
