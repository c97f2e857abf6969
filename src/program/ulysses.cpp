// Ulysses sequence parallelism (Jacobs et al., arXiv 2309.14509): around the attention, ranks trade positions
// for heads by one exchange of queries, keys and values together and one of the results; backward mirrors
// both. Blocks of an all-to-all are contiguous, so heads are packed and unpacked by copies of columns.

#include "core/errors.hpp"
#include "program/assemble.hpp"
#include "program/heads.hpp"

namespace galvatron::program {
namespace {

/// Columns of one destination: where they are in a row of all heads of the tp index, and in a packed block.
struct Stretch {
  int64_t all = 0, packed = 0, cols = 0;
  bool keys = false;
};

/// Queries, keys and values of sp index `part`.
std::vector<Stretch> stretches_of(const HeadDeal& deal, int64_t head_dim, size_t part) {
  const auto &queries = deal.part_queries[part], &keys = deal.part_keys[part];
  const auto q = (queries.first - deal.queries.first) * head_dim,
             k = (keys.first - deal.keys.first) * head_dim;
  const auto q_cols = queries.count * head_dim, k_cols = keys.count * head_dim;
  const auto all_q = deal.queries.count * head_dim, all_k = deal.keys.count * head_dim;
  return {{q, 0, q_cols, false},
          {all_q + k, q_cols, k_cols, true},
          {all_q + all_k + k, q_cols + k_cols, k_cols, true}};
}

HeadDeal deal_of(const Program& program) {
  return deal_heads(program.layer.dims, program.strategy, program.coordinate.tp);
}

}  // namespace

void Assembler::emit_to_heads(const Op& op, Phase phase, ValueId from, ValueId to) {
  const auto deal = deal_of(tape_.program);
  const auto made = tape_.program.value(to);
  const auto packed = new_work("heads.packed", made.rows, made.cols, made.dtype);
  const auto rows = tape_.program.value(from).rows;
  for (size_t part = 0; part < deal.part_queries.size(); ++part)
    for (const auto& s : stretches_of(deal, tape_.program.layer.dims.head_dim, part))
      copy(phase, columns(from, s.all, s.cols),
           {packed, static_cast<int64_t>(part) * rows, rows, s.packed, s.cols});
  push(phase, {StepKind::collective, {whole(packed)}, {whole(to)}, op.attributes, {}});
}

void Assembler::to_heads_rule(const Op& op, int64_t index, ValueId dy) {
  const auto deal = deal_of(tape_.program);
  const auto given = tape_.program.value(dy);
  const auto packed = new_work("heads.packed gradient", given.rows, given.cols, given.dtype);
  push(Phase::backward, {StepKind::collective, {whole(dy)}, {whole(packed)}, op.attributes, {}});
  const auto dx = gradient_target(op.inputs[0], index);
  const auto rows = tape_.program.value(dx).rows;
  // A key/value head that several parts read has a gradient from each of them.
  std::map<int64_t, int64_t> seen;
  for (size_t part = 0; part < deal.part_queries.size(); ++part)
    for (const auto& s : stretches_of(deal, tape_.program.layer.dims.head_dim, part)) {
      const Operand block{packed, static_cast<int64_t>(part) * rows, rows, s.packed, s.cols};
      const auto target = columns(dx, s.all, s.cols);
      if (seen[s.all]++ == 0)
        copy(Phase::backward, block, target);
      else
        push(Phase::backward, {StepKind::add, {target, block, {}}, {target}, {}, {}});
    }
  contribute(op.inputs[0], dx, index);
}

void Assembler::emit_to_tokens(const Op& op, Phase phase, ValueId from, ValueId to) {
  const auto given = tape_.program.value(from);
  const auto packed = new_work("tokens.packed", given.rows, given.cols, given.dtype);
  push(phase, {StepKind::collective, {whole(from)}, {whole(packed)}, op.attributes, {}});
  const auto rows = tape_.program.value(to).rows;
  for (int64_t part = 0; part < given.rows / rows; ++part)
    copy(phase, row_range(packed, part * rows, rows), columns(to, part * given.cols, given.cols));
}

void Assembler::to_tokens_rule(const Op& op, int64_t index, ValueId dy) {
  const auto dx = gradient_target(op.inputs[0], index);
  const auto made = tape_.program.value(dx);
  const auto packed = new_work("tokens.packed gradient", made.rows, made.cols, made.dtype);
  const auto rows = tape_.program.value(dy).rows;
  for (int64_t part = 0; part < made.rows / rows; ++part)
    copy(Phase::backward, columns(dy, part * made.cols, made.cols), row_range(packed, part * rows, rows));
  push(Phase::backward, {StepKind::collective, {whole(packed)}, {whole(dx)}, op.attributes, {}});
  contribute(op.inputs[0], dx, index);
}

}  // namespace galvatron::program
