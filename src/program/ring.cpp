// Ring attention (Liu et al., arXiv 2310.01889) with zigzag blocks: keys and values travel around the
// context-parallel group while each rank attends the block it holds; partial results merge by their
// log-sum-exp. In backward the gradients of keys and values travel with one step of delay and come home after
// a full round. Transfers start before the block attention beside which they run, and end after it.

#include "program/assemble.hpp"

namespace galvatron::program {
namespace {

/// Tickets of the two rings.
constexpr int32_t keys_ticket = 0, gradients_ticket = 1;

CollectiveAttributes ring(int32_t ranks, int32_t ticket) {
  return {core::CollectiveKind::shift, core::ReduceOp::sum, spec::Axis::cp, ranks, false, ticket};
}

Step start(Operand from, Operand to, int32_t ranks, int32_t ticket) {
  return {StepKind::collective, {from}, {to}, ring(ranks, ticket), {}};
}

Step end(Operand from, Operand to, int32_t ticket) {
  return {StepKind::wait, {from}, {to}, WaitAttributes{ticket}, {}};
}

/// What the rank at `index` computes when it holds the block of the rank `turn` places before it.
core::AttentionPart part_at(int32_t turn, int32_t index) {
  if (turn == 0) return core::AttentionPart::diagonal;
  return turn <= index ? core::AttentionPart::earlier : core::AttentionPart::later;
}

}  // namespace

void Assembler::emit_ring(const Op& op, Phase phase, ValueId qkv, ValueId out, ValueId lse) {
  auto a = std::get<AttentionAttributes>(op.attributes);
  const auto ranks = tape_.program.strategy.cp, index = tape_.program.coordinate.cp;
  const auto dtype = tape_.program.dtype;
  const auto rows = tape_.program.value(out).rows;
  const auto q = a.heads * a.head_dim, kv = a.kv_heads * a.head_dim;
  const ValueId held[2] = {new_work("ring.keys", rows, 2 * kv, dtype),
                           new_work("ring.keys", rows, 2 * kv, dtype)};
  // Partial results are summed wider than they are kept.
  const bool wider = dtype != accumulator();
  const auto sum = wider ? new_work("ring.sum", rows, q, accumulator()) : out;
  copy(phase, columns(qkv, q, 2 * kv), whole(held[0]));
  for (int32_t turn = 0; turn < ranks; ++turn) {
    const auto now = held[turn % 2], next = held[(turn + 1) % 2];
    const bool travels = turn + 1 < ranks;
    if (travels) push(phase, start(whole(now), whole(next), ranks, keys_ticket));
    a.part = part_at(turn, index);
    a.merge = turn == 0 ? core::Write::overwrite : core::Write::accumulate;
    push(phase, {StepKind::attention,
                 {columns(qkv, 0, q), columns(now, 0, kv), columns(now, kv, kv)},
                 {whole(sum), whole(lse)},
                 a,
                 {}});
    if (travels) push(phase, end(whole(now), whole(next), keys_ticket));
  }
  if (wider) copy(phase, whole(sum), whole(out));
}

void Assembler::ring_rule(const AttentionAttributes& given, ValueId qkv, ValueId out, ValueId lse, ValueId dy,
                          ValueId dqkv) {
  auto a = given;
  const auto ranks = tape_.program.strategy.cp, index = tape_.program.coordinate.cp;
  const auto rows = tape_.program.value(dy).rows;
  const auto q = a.heads * a.head_dim, kv = a.kv_heads * a.head_dim;
  const auto dtype = tape_.program.dtype, wide = accumulator();
  const ValueId held[2] = {new_work("ring.keys", rows, 2 * kv, dtype),
                           new_work("ring.keys", rows, 2 * kv, dtype)};
  const ValueId sums[2] = {new_work("ring.gradient", rows, 2 * kv, wide),
                           new_work("ring.gradient", rows, 2 * kv, wide)};
  const auto own = new_work("ring.own gradient", rows, 2 * kv, wide), dq = new_work("ring.dq", rows, q, wide);
  copy(Phase::backward, columns(qkv, q, 2 * kv), whole(held[0]));
  for (int32_t turn = 0; turn < ranks; ++turn) {
    const auto now = held[turn % 2], next = held[(turn + 1) % 2];
    const auto sum = sums[turn % 2], passed_on = sums[(turn + 1) % 2];
    const auto part = turn == 0 ? sum : own;
    const bool travels = turn + 1 < ranks;
    if (travels) push(Phase::backward, start(whole(now), whole(next), ranks, keys_ticket));
    a.part = part_at(turn, index);
    a.sum_q = turn == 0 ? core::Write::overwrite : core::Write::accumulate;
    push(Phase::backward,
         {StepKind::attention_backward,
          {columns(qkv, 0, q), columns(now, 0, kv), columns(now, kv, kv), whole(out), whole(lse), whole(dy)},
          {whole(dq), columns(part, 0, kv), columns(part, kv, kv)},
          a,
          {}});
    if (travels) push(Phase::backward, end(whole(now), whole(next), keys_ticket));
    if (turn > 0) {
      push(Phase::backward, end(whole(passed_on), whole(sum), gradients_ticket));
      push(Phase::backward, {StepKind::add, {whole(sum), whole(own), {}}, {whole(sum)}, {}, {}});
    }
    push(Phase::backward, start(whole(sum), whole(passed_on), ranks, gradients_ticket));
  }
  const auto last = sums[(ranks - 1) % 2], home = sums[ranks % 2];
  push(Phase::backward, end(whole(last), whole(home), gradients_ticket));
  copy(Phase::backward, whole(dq), columns(dqkv, 0, q));
  copy(Phase::backward, whole(home), columns(dqkv, q, 2 * kv));
}

}  // namespace galvatron::program
