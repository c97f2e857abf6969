// One line per step: check, then queue. What is special: products with an empty inner dim are a fill,
// column sums beside a product are made aside and added, and four steps borrow the scratch memory.

#include "kernels/cuda/dispatch.hpp"

#include "kernels/checks.hpp"

namespace galvatron::kernels::cuda {
namespace {

int64_t inner_of(const GemmArgs& args) {
  return args.transpose_a == Transpose::yes ? args.a.rows : args.a.cols;
}

}  // namespace

void Dispatch::gemm(Stream& stream, const GemmArgs& args) {
  checks::gemm(args);
  checks::workspace("gemm", args.workspace, gemm_workspace_bytes(args));
  if (args.c.elements() == 0) return;
  if (inner_of(args) > 0) return product(handle(stream), args);
  if (args.write == Write::overwrite) gemm_by_tiles(handle(stream), args);
}

void Dispatch::gemm_with(Stream& stream, const GemmArgs& args, const Epilogue& epilogue) {
  checks::gemm(args);
  checks::workspace("gemm", args.workspace, gemm_workspace_bytes(args));
  checks::epilogue(args, epilogue);
  if (args.c.elements() == 0 || inner_of(args) == 0 || !in_one_pass(handle(stream), args, epilogue))
    Kernels::gemm_with(stream, args, epilogue);
}

bool Dispatch::in_one_pass(cudaStream_t queue, const GemmArgs& args, const Epilogue& epilogue) {
  if (epilogue.kind != core::EpilogueKind::column_sum) return product_with(queue, args, epilogue);
  const auto scratch = take_scratch(queue);
  const Epilogue sums{{},
                      device::vector(scratch.data, epilogue.out.dtype, epilogue.out.cols),
                      core::EpilogueKind::column_sum};
  const bool done = sums.out.bytes() <= scratch.bytes && product_with(queue, args, sums);
  if (done) cuda::add(queue, epilogue.out, sums.out, {}, epilogue.out);
  give_back(queue);
  return done;
}

void Dispatch::norm(Stream& stream, const NormArgs& args) {
  checks::norm(args);
  cuda::norm(handle(stream), args);
}

void Dispatch::norm_backward(Stream& stream, const NormBackwardArgs& args) {
  checks::norm_backward(args);
  checks::workspace("norm_backward", args.workspace, norm_backward_workspace_bytes(args));
  cuda::norm_backward(handle(stream), args);
}

void Dispatch::activation(Stream& stream, ActivationKind kind, TensorView x, TensorView y) {
  checks::activation(kind, x, y);
  cuda::activation(handle(stream), kind, x, y);
}

void Dispatch::activation_backward(Stream& stream, ActivationKind kind, TensorView x, TensorView dy,
                                   TensorView dx) {
  checks::activation_backward(kind, x, dy, dx);
  cuda::activation_backward(handle(stream), kind, x, dy, dx);
}

void Dispatch::attention(Stream& stream, const AttentionArgs& args) {
  checks::attention(args);
  checks::workspace("attention", args.workspace, attention_workspace_bytes(args));
  const auto queue = handle(stream);
  if (!fused(queue, args)) cuda::attention(queue, args);
}

void Dispatch::attention_backward(Stream& stream, const AttentionBackwardArgs& args) {
  checks::attention_backward(args);
  checks::workspace("attention_backward", args.workspace, attention_backward_workspace_bytes(args));
  const auto queue = handle(stream);
  if (!fused(queue, args)) cuda::attention_backward(queue, args);
}

void Dispatch::add(Stream& stream, TensorView a, TensorView b, TensorView bias, TensorView out) {
  checks::add(a, b, bias, out);
  cuda::add(handle(stream), a, b, bias, out);
}

void Dispatch::column_sum(Stream& stream, TensorView x, TensorView out) {
  checks::column_sum(x, out);
  const auto queue = handle(stream);
  cuda::column_sum(queue, x, out, take_scratch(queue));
  give_back(queue);
}

void Dispatch::embedding(Stream& stream, TensorView ids, TensorView table, int64_t first_id, TensorView out) {
  checks::embedding(ids, table, out);
  cuda::embedding(handle(stream), ids, table, first_id, out);
}

void Dispatch::embedding_backward(Stream& stream, TensorView ids, TensorView dout, int64_t first_id,
                                  TensorView dtable) {
  checks::embedding_backward(ids, dout, dtable);
  cuda::embedding_backward(handle(stream), ids, dout, first_id, dtable);
}

void Dispatch::add_positions(Stream& stream, TensorView x, TensorView table, const RowPositions& positions,
                             TensorView out) {
  checks::add_positions(x, table, positions, out);
  cuda::add_positions(handle(stream), x, table, positions, out);
}

void Dispatch::add_positions_backward(Stream& stream, TensorView dout, const RowPositions& positions,
                                      TensorView dtable) {
  checks::add_positions_backward(dout, positions, dtable);
  cuda::add_positions_backward(handle(stream), dout, positions, dtable);
}

void Dispatch::rope(Stream& stream, const RopeArgs& args) {
  checks::rope(args);
  cuda::rope(handle(stream), args);
}

void Dispatch::cross_entropy(Stream& stream, const CrossEntropyArgs& args) {
  checks::cross_entropy(args);
  const auto queue = handle(stream);
  cuda::cross_entropy(queue, args, take_scratch(queue));
  give_back(queue);
}

void Dispatch::fill(Stream& stream, TensorView x, double value) {
  checks::fill(x);
  cuda::fill(handle(stream), x, value);
}

void Dispatch::copy(Stream& stream, TensorView from, TensorView to) {
  checks::copy(from, to);
  cuda::copy(handle(stream), from, to);
}

void Dispatch::adamw(Stream& stream, const AdamWArgs& args) {
  checks::adamw(args);
  cuda::adamw(handle(stream), args);
}

void Dispatch::sgd(Stream& stream, TensorView parameter, TensorView gradient, TensorView working, double lr,
                   double gradient_scale) {
  checks::sgd(parameter, gradient, working);
  cuda::sgd(handle(stream), parameter, gradient, working, lr, gradient_scale);
}

void Dispatch::sum_of_squares(Stream& stream, TensorView x, TensorView out) {
  checks::sum_of_squares(x, out);
  const auto queue = handle(stream);
  cuda::sum_of_squares(queue, x, out, take_scratch(queue));
  give_back(queue);
}

int64_t Dispatch::norm_backward_workspace_bytes(const NormBackwardArgs& args) {
  return norm_backward_bytes(args);
}

int64_t Dispatch::attention_workspace_bytes(const AttentionArgs&) {
  return 0;
}

int64_t Dispatch::attention_backward_workspace_bytes(const AttentionBackwardArgs& args) {
  return attention_backward_bytes(args);
}

}  // namespace galvatron::kernels::cuda
