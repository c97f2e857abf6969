// The order of operands is fixed in program/step.hpp; this is the only reader of it on the way to a kernel.

#include "runtime/kernel_args.hpp"

namespace galvatron::runtime {

using program::Step;
using program::StepKind;

TensorView shape_of(const program::Program& program, const program::Operand& operand) {
  if (!operand.present()) return {};
  const auto& value = program.value(operand.value);
  return {nullptr, value.dtype, operand.rows, operand.cols, value.cols};
}

kernels::GemmArgs gemm_args(const Step& step, const Resolver& view) {
  const auto& a = std::get<program::GemmAttributes>(step.attributes);
  kernels::GemmArgs args;
  args.a = view(step.reads[0]);
  args.b = view(step.reads[1]);
  args.bias = view(step.reads[2]);
  args.c = view(step.writes[0]);
  args.transpose_a = a.a;
  args.transpose_b = a.b;
  args.write = a.write;
  args.workspace = view(step.workspace);
  return args;
}

kernels::Epilogue epilogue_args(core::EpilogueKind kind, const Step& step, const Resolver& view) {
  const bool reads_more = kind == core::EpilogueKind::gelu_backward;
  return {reads_more ? view(step.reads[0]) : TensorView{}, view(step.writes[0]), kind};
}

kernels::NormArgs norm_args(const Step& step, const Resolver& view) {
  const auto& a = std::get<program::NormAttributes>(step.attributes);
  return {view(step.reads[0]),
          view(step.reads[1]),
          view(step.reads[2]),
          view(step.writes[0]),
          view(step.writes[1]),
          a.eps,
          a.kind};
}

kernels::NormBackwardArgs norm_backward_args(const Step& step, const Resolver& view) {
  kernels::NormBackwardArgs args;
  args.x = view(step.reads[0]);
  args.gamma = view(step.reads[1]);
  args.stats = view(step.reads[2]);
  args.dy = view(step.reads[3]);
  args.residual = view(step.reads[4]);
  args.dx = view(step.writes[0]);
  args.dgamma = view(step.writes[1]);
  args.dbeta = view(step.writes[2]);
  args.workspace = view(step.workspace);
  args.kind = std::get<program::NormAttributes>(step.attributes).kind;
  return args;
}

namespace {

template <class Args>
void set_counts(Args& args, const program::AttentionAttributes& a) {
  args.samples = a.samples;
  args.positions = a.positions;
  args.pieces = a.pieces;
  args.heads = a.heads;
  args.kv_heads = a.kv_heads;
  args.head_dim = a.head_dim;
  args.scale = a.scale;
  args.part = a.part;
}

}  // namespace

kernels::RopeArgs rope_args(const Step& step, const Resolver& view) {
  const auto& a = std::get<program::RopeAttributes>(step.attributes);
  return {view(step.reads[0]), view(step.writes[0]), a.positions, a.heads, a.head_dim, a.base, a.direction};
}

kernels::AttentionArgs attention_args(const Step& step, const Resolver& view) {
  kernels::AttentionArgs args;
  args.q = view(step.reads[0]);
  args.k = view(step.reads[1]);
  args.v = view(step.reads[2]);
  args.out = view(step.writes[0]);
  args.lse = view(step.writes[1]);
  args.workspace = view(step.workspace);
  const auto& a = std::get<program::AttentionAttributes>(step.attributes);
  set_counts(args, a);
  args.write = a.merge;
  return args;
}

kernels::AttentionBackwardArgs attention_backward_args(const Step& step, const Resolver& view) {
  kernels::AttentionBackwardArgs args;
  args.q = view(step.reads[0]);
  args.k = view(step.reads[1]);
  args.v = view(step.reads[2]);
  args.out = view(step.reads[3]);
  args.lse = view(step.reads[4]);
  args.dout = view(step.reads[5]);
  args.dq = view(step.writes[0]);
  args.dk = view(step.writes[1]);
  args.dv = view(step.writes[2]);
  args.workspace = view(step.workspace);
  const auto& a = std::get<program::AttentionAttributes>(step.attributes);
  set_counts(args, a);
  args.write_q = a.sum_q;
  return args;
}

kernels::CrossEntropyArgs cross_entropy_args(const Step& step, const Resolver& view) {
  const auto& a = std::get<program::CrossEntropyAttributes>(step.attributes);
  return {view(step.writes[0]),
          view(step.reads[0]),
          view(step.writes[1]),
          view(step.writes[2]),
          a.vocab_begin,
          a.vocab,
          a.scale,
          a.loss_weight,
          a.phase};
}

int64_t KernelWorkspace::product_bytes(const kernels::GemmArgs& args) const {
  Product product{static_cast<int64_t>(args.transpose_a), static_cast<int64_t>(args.transpose_b),
                  static_cast<int64_t>(args.write), args.bias.present() ? args.bias.cols : 0};
  size_t at = 4;
  for (const TensorView* view : {&args.a, &args.b, &args.c})
    for (const int64_t part : {view->rows, view->cols, view->row_stride, static_cast<int64_t>(view->dtype)})
      product[at++] = part;
  const auto [found, fresh] = products_.try_emplace(product, 0);
  if (fresh) found->second = kernels_.gemm_workspace_bytes(args);
  return found->second;
}

int64_t KernelWorkspace::bytes(const program::Program& program, const Step& step) const {
  const Resolver shape = [&](const program::Operand& operand) { return shape_of(program, operand); };
  switch (step.kind) {
    case StepKind::gemm:
      return product_bytes(gemm_args(step, shape));
    case StepKind::norm_backward:
      return kernels_.norm_backward_workspace_bytes(norm_backward_args(step, shape));
    case StepKind::attention:
      return kernels_.attention_workspace_bytes(attention_args(step, shape));
    case StepKind::attention_backward:
      return kernels_.attention_backward_workspace_bytes(attention_backward_args(step, shape));
    default:
      return 0;
  }
}

}  // namespace galvatron::runtime
