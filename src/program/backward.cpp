// Backward: one rule per kind of op, applied from the last op to the first. A value that backward needs is
// either kept (a linear's or attention's result: dear to make again) or derived again by the op that made it
// (norms, activations, gathered tokens). Recompute is nothing but keeping less.

#include <algorithm>

#include "core/errors.hpp"
#include "program/assemble.hpp"

namespace galvatron::program {

using core::Transpose;
using core::Write;

void Assembler::derive_backward() {
  auto& program = tape_.program;
  if (program.output != no_value) gradients_[program.output] = program.output_gradient;
  for (auto index = static_cast<int64_t>(tape_.ops.size()) - 1; index >= 0; --index)
    differentiate(tape_.ops[static_cast<size_t>(index)], index);
  if (program.input == no_value) return;
  const auto found = gradients_.find(program.input);
  GALV_ASSERT(found != gradients_.end(), program.layer.kind);
  if (found->second != program.input_gradient)
    push(Phase::backward, {StepKind::copy, {whole(found->second)}, {whole(program.input_gradient)}, {}, {}});
}

void Assembler::differentiate(const Op& op, int64_t index) {
  if (op.kind == OpKind::cross_entropy) {
    // Its forward made this gradient already; it waits in the saved region.
    tape_.program.value(op.outputs[0]).storage = Storage::saved;
    contribute(op.inputs[0], op.outputs[0], index);
    return;
  }
  const auto found = gradients_.find(op.outputs[0]);
  GALV_ASSERT(found != gradients_.end(), tape_.program.value(op.outputs[0]).name);
  const auto dy = found->second;
  switch (op.kind) {
    case OpKind::norm:
      return norm_rule(op, index, dy);
    case OpKind::linear:
      return linear_rule(op, index, dy);
    case OpKind::activation:
      return activation_rule(op, index, dy);
    case OpKind::attention:
      return attention_rule(op, index, dy);
    case OpKind::add:
      if (op.weights[0].present())
        push(Phase::backward, {StepKind::column_sum, {whole(dy)}, {gradient_operand(op.weights[0])}, {}, {}});
      contribute(op.inputs[0], dy, index);
      contribute(op.inputs[1], dy, index);
      return;
    case OpKind::embedding:
      push(Phase::backward, {StepKind::embedding_backward,
                             {whole(op.inputs[0]), whole(dy)},
                             {gradient_operand(op.weights[0])},
                             op.attributes,
                             {}});
      return;
    case OpKind::positions:
      push(Phase::backward,
           {StepKind::positions_backward, {whole(dy)}, {gradient_operand(op.weights[0])}, op.attributes, {}});
      contribute(op.inputs[0], dy, index);
      return;
    case OpKind::gather_tokens:
    case OpKind::scatter_tokens:
      return tokens_rule(op, index, dy);
    case OpKind::rope:
      return rope_rule(op, index, dy);
    case OpKind::to_heads:
      return to_heads_rule(op, index, dy);
    case OpKind::to_tokens:
      return to_tokens_rule(op, index, dy);
    case OpKind::cross_entropy:
      return;
  }
}

void Assembler::norm_rule(const Op& op, int64_t index, ValueId dy) {
  const auto x = op.inputs[0];
  const auto stats = need(op.outputs[1]);
  // A gradient that x already has (the residual's) is added in the same pass over memory.
  const auto other = gradients_.find(x);
  const auto residual = other == gradients_.end() ? no_value : other->second;
  const auto dx = gradient_target(x, index);
  push(Phase::backward,
       {StepKind::norm_backward,
        {whole(need(x)), weight_operand(op.weights[0]), whole(stats), whole(dy), whole(residual)},
        {whole(dx), gradient_operand(op.weights[0]), gradient_operand(op.weights[1])},
        op.attributes,
        {}});
  gradients_[x] = dx;
}

void Assembler::linear_rule(const Op& op, int64_t index, ValueId dy) {
  const auto x = op.inputs[0];
  // The activation's backward then comes right behind the product that it takes (epilogue.hpp).
  const auto producer = tape_.producer_of(x);
  const bool follows_activation =
      producer >= 0 && tape_.ops[static_cast<size_t>(producer)].kind == OpKind::activation;
  int64_t col = 0;
  for (size_t i = 0; i < op.weights.size(); i += 2) {
    const auto weight = weight_operand(op.weights[i]);
    const auto part = columns(dy, col, weight.rows);
    col += weight.rows;
    const auto dx = gradient_target(x, index);
    const Step data{StepKind::gemm, {part, weight, {}}, {whole(dx)}, GemmAttributes{}, {}};
    if (!follows_activation) push(Phase::backward, data);
    push(Phase::backward, {StepKind::gemm,
                           {part, whole(need(x)), {}},
                           {gradient_operand(op.weights[i])},
                           GemmAttributes{Transpose::yes, Transpose::no, Write::accumulate},
                           {}});
    if (op.weights[i + 1].present())
      push(Phase::backward, {StepKind::column_sum, {part}, {gradient_operand(op.weights[i + 1])}, {}, {}});
    if (follows_activation) push(Phase::backward, data);
    contribute(x, dx, index);
  }
}

void Assembler::activation_rule(const Op& op, int64_t index, ValueId dy) {
  const auto x = op.inputs[0];
  const auto dx = gradient_target(x, index);
  push(Phase::backward,
       {StepKind::activation_backward, {whole(need(x)), whole(dy)}, {whole(dx)}, op.attributes, {}});
  contribute(x, dx, index);
}

void Assembler::attention_rule(const Op& op, int64_t index, ValueId dy) {
  const auto& a = std::get<AttentionAttributes>(op.attributes);
  const auto qkv = need(op.inputs[0]), out = need(op.outputs[0]), lse = need(op.outputs[1]);
  const auto dqkv = gradient_target(op.inputs[0], index);
  if (tape_.program.strategy.cp > 1) {
    ring_rule(a, qkv, out, lse, dy, dqkv);
  } else {
    const auto q = a.heads * a.head_dim, kv = a.kv_heads * a.head_dim;
    push(Phase::backward, {StepKind::attention_backward,
                           {columns(qkv, 0, q), columns(qkv, q, kv), columns(qkv, q + kv, kv), whole(out),
                            whole(lse), whole(dy)},
                           {columns(dqkv, 0, q), columns(dqkv, q, kv), columns(dqkv, q + kv, kv)},
                           a,
                           {}});
  }
  contribute(op.inputs[0], dqkv, index);
}

void Assembler::rope_rule(const Op& op, int64_t index, ValueId dy) {
  auto attributes = std::get<RopeAttributes>(op.attributes);
  attributes.direction = core::Direction::inverse;
  const auto dx = gradient_target(op.inputs[0], index);
  push(Phase::backward, {StepKind::rope, {whole(dy)}, {whole(dx)}, attributes, {}});
  contribute(op.inputs[0], dx, index);
}

void Assembler::tokens_rule(const Op& op, int64_t index, ValueId dy) {
  auto attributes = std::get<CollectiveAttributes>(op.attributes);
  attributes.kind = op.kind == OpKind::gather_tokens ? core::CollectiveKind::reduce_scatter
                                                     : core::CollectiveKind::all_gather;
  const auto dx = gradient_target(op.inputs[0], index);
  push(Phase::backward, {StepKind::collective, {whole(dy)}, {whole(dx)}, attributes, {}});
  contribute(op.inputs[0], dx, index);
}

ValueId Assembler::need(ValueId id) {
  auto& value = tape_.program.value(id);
  if (value.storage == Storage::saved) return id;
  if (tape_.keep[static_cast<size_t>(id)] == Keep::yes) {
    GALV_ASSERT(value.storage == Storage::work, value.name);
    value.storage = Storage::saved;
    return id;
  }
  if (const auto found = derived_.find(id); found != derived_.end()) return found->second;
  const auto producer = tape_.producer_of(id);
  GALV_ASSERT(producer >= 0, value.name);
  const auto& op = tape_.ops[static_cast<size_t>(producer)];
  Renames renames;
  for (auto input : op.inputs) renames[input] = need(input);
  for (auto output : op.outputs) {
    const auto made = tape_.program.value(output);
    renames[output] = derived_[output] = new_work(made.name + " again", made.rows, made.cols, made.dtype);
  }
  emit(op, Phase::backward, renames);
  return derived_.at(id);
}

bool Assembler::is_last_contribution(ValueId value, int64_t index) const {
  return std::none_of(tape_.ops.begin(), tape_.ops.begin() + index, [&](const Op& op) {
    return std::find(op.inputs.begin(), op.inputs.end(), value) != op.inputs.end();
  });
}

ValueId Assembler::gradient_target(ValueId value, int64_t index) {
  const auto& program = tape_.program;
  // The norm's rule adds what is there already, so its result may be final; another's is only when it is the
  // sole one.
  const bool complete =
      tape_.ops[static_cast<size_t>(index)].kind == OpKind::norm || !gradients_.contains(value);
  if (value == program.input && complete && is_last_contribution(value, index)) return program.input_gradient;
  const auto& v = program.value(value);
  return new_work(v.name + ".gradient", v.rows, v.cols, v.dtype);
}

void Assembler::contribute(ValueId value, ValueId gradient, int64_t index) {
  const auto found = gradients_.find(value);
  if (found == gradients_.end()) {
    gradients_[value] = gradient;
    return;
  }
  const auto& v = tape_.program.value(value);
  const bool last = value == tape_.program.input && is_last_contribution(value, index);
  const auto sum =
      last ? tape_.program.input_gradient : new_work(v.name + ".gradient", v.rows, v.cols, v.dtype);
  push(Phase::backward, {StepKind::add, {whole(found->second), whole(gradient), {}}, {whole(sum)}, {}, {}});
  gradients_[value] = sum;
}

}  // namespace galvatron::program
