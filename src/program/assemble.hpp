#pragma once
// From a tape to steps: groups the weights, writes out forward and evaluate, derives backward.

#include <map>
#include <utility>
#include <vector>

#include "program/lower.hpp"
#include "program/tape.hpp"

namespace galvatron::program {

/// Puts the declared weights into groups by their replicas and fixes their offsets.
void assign_groups(Tape& tape, const LayerContext& context);

/// Writes steps into a Program's phases. Forward and backward rules of every op go through it.
class Assembler {
 public:
  explicit Assembler(Tape tape);

  /// Phases forward, evaluate and backward are complete afterwards; what backward needs is marked saved.
  Program assemble();

 private:
  using Renames = std::map<ValueId, ValueId>;

  // Forward: one op's steps into `phase`, its values renamed.
  void emit(const Op& op, Phase phase, const Renames& renames);
  void emit_linear(const Op& op, Phase phase, Operand x, ValueId y);
  void emit_attention(const Op& op, Phase phase, ValueId qkv, ValueId out, ValueId lse);
  void emit_ring(const Op& op, Phase phase, ValueId qkv, ValueId out, ValueId lse);
  void emit_to_heads(const Op& op, Phase phase, ValueId from, ValueId to);
  void emit_to_tokens(const Op& op, Phase phase, ValueId from, ValueId to);
  void emit_cross_entropy(const Op& op, Phase phase);
  void emit_evaluation();

  // Backward.
  void derive_backward();
  void differentiate(const Op& op, int64_t index);
  void norm_rule(const Op& op, int64_t index, ValueId dy);
  void linear_rule(const Op& op, int64_t index, ValueId dy);
  void activation_rule(const Op& op, int64_t index, ValueId dy);
  void attention_rule(const Op& op, int64_t index, ValueId dy);
  void ring_rule(const AttentionAttributes& a, ValueId qkv, ValueId out, ValueId lse, ValueId dy,
                 ValueId dqkv);
  void rope_rule(const Op& op, int64_t index, ValueId dy);
  void to_heads_rule(const Op& op, int64_t index, ValueId dy);
  void to_tokens_rule(const Op& op, int64_t index, ValueId dy);
  void tokens_rule(const Op& op, int64_t index, ValueId dy);
  ValueId need(ValueId value);
  void contribute(ValueId value, ValueId gradient, int64_t index);
  ValueId gradient_target(ValueId value, int64_t index);
  bool is_last_contribution(ValueId value, int64_t index) const;

  // Values and operands.
  ValueId new_work(const std::string& name, int64_t rows, int64_t cols, core::DType dtype);
  ValueId parameter_value(WeightRef weight, Storage storage);
  Operand whole(ValueId value) const;
  Operand row_range(ValueId value, int64_t row, int64_t rows) const;
  Operand columns(ValueId value, int64_t col, int64_t cols) const;
  Operand weight_operand(WeightRef weight);
  Operand gradient_operand(WeightRef weight);
  Operand stretch(WeightRef weight, Storage storage);
  core::DType accumulator() const { return core::accumulator_of(tape_.program.dtype); }
  void copy(Phase phase, Operand from, Operand to) { push(phase, {StepKind::copy, {from}, {to}, {}, {}}); }
  void push(Phase phase, Step step) { tape_.program.steps(phase).push_back(std::move(step)); }

  Tape tape_;
  std::map<std::pair<int32_t, int32_t>, ValueId> weight_values_,
      gradient_values_;                   // by (first weight, count)
  std::map<ValueId, ValueId> gradients_;  // of forward values
  Renames derived_;                       // forward values made again in backward
};

}  // namespace galvatron::program
