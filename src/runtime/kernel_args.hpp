#pragma once
// A step's operands as the arguments of its kernel. One translation serves playing (views of real memory) and
// asking for workspace (views without data), so both always mean the same call.

#include <array>
#include <functional>
#include <map>

#include "kernels/kernels.hpp"
#include "program/lower.hpp"

namespace galvatron::runtime {

using device::TensorView;

/// Where an operand is. Absent operands give absent views.
using Resolver = std::function<TensorView(const program::Operand&)>;

/// Shape, dtype and stride of an operand, without data.
TensorView shape_of(const program::Program& program, const program::Operand& operand);

kernels::GemmArgs gemm_args(const program::Step& step, const Resolver& view);
/// What `step` does with the product of the step before it.
kernels::Epilogue epilogue_args(core::EpilogueKind kind, const program::Step& step, const Resolver& view);
kernels::NormArgs norm_args(const program::Step& step, const Resolver& view);
kernels::NormBackwardArgs norm_backward_args(const program::Step& step, const Resolver& view);
kernels::RopeArgs rope_args(const program::Step& step, const Resolver& view);
kernels::AttentionArgs attention_args(const program::Step& step, const Resolver& view);
kernels::AttentionBackwardArgs attention_backward_args(const program::Step& step, const Resolver& view);
kernels::CrossEntropyArgs cross_entropy_args(const program::Step& step, const Resolver& view);

/// What the kernels say about workspace, in the planner's terms. Products are asked for once each, because
/// their libraries answer slowly; so one thread uses it at a time, like the kernels.
class KernelWorkspace final : public program::WorkspaceRule {
 public:
  explicit KernelWorkspace(kernels::Kernels& kernels) : kernels_(kernels) {}
  int64_t bytes(const program::Program& program, const program::Step& step) const override;

 private:
  /// All that an answer depends on: shapes, strides, types, transposes, and what the product does to c.
  using Product = std::array<int64_t, 16>;
  int64_t product_bytes(const kernels::GemmArgs& args) const;

  kernels::Kernels& kernels_;
  mutable std::map<Product, int64_t> products_;
};

}  // namespace galvatron::runtime
