// Forward: each op of the tape as steps on whole values; the head's loss chunk by chunk.

#include "program/assemble.hpp"

#include <algorithm>

#include "core/errors.hpp"

namespace galvatron::program {
namespace {

/// Logits of one chunk stay near this many elements, so that tokens × vocabulary never exists whole.
constexpr int64_t chunk_elements = int64_t{1} << 21;
constexpr int64_t smallest_chunk_rows = 64;
/// More chunks than this make Programs of many tokens long and save little: one chunk's logits are then no
/// larger than some of the activations that are there anyway.
constexpr int64_t most_chunks = 128;

int64_t chunk_rows_for(int64_t rows, int64_t cols) {
  return std::min(
      rows, std::max({smallest_chunk_rows, chunk_elements / cols, (rows + most_chunks - 1) / most_chunks}));
}

}  // namespace

Assembler::Assembler(Tape tape) : tape_(std::move(tape)) {}

Program Assembler::assemble() {
  for (const auto& op : tape_.ops) emit(op, Phase::forward, {});
  derive_backward();
  emit_evaluation();
  return std::move(tape_.program);
}

void Assembler::emit_evaluation() {
  // Nothing outlives an evaluation, so every intermediate value is work of its own there.
  Renames renames;
  for (const auto& op : tape_.ops) {
    for (auto id : op.outputs) {
      const auto value = tape_.program.value(id);
      if (value.storage == Storage::output || op.kind == OpKind::cross_entropy) continue;
      renames[id] = new_work(value.name, value.rows, value.cols, value.dtype);
    }
    auto renamed = op;
    for (auto& id : renamed.inputs)
      if (const auto found = renames.find(id); found != renames.end()) id = found->second;
    emit(renamed, Phase::evaluate, renames);
  }
}

ValueId Assembler::new_work(const std::string& name, int64_t rows, int64_t cols, core::DType dtype) {
  tape_.program.values.push_back({name, rows, cols, dtype, Storage::work});
  tape_.keep.push_back(Keep::no);
  return static_cast<ValueId>(tape_.program.values.size()) - 1;
}

ValueId Assembler::parameter_value(WeightRef ref, Storage storage) {
  auto& cache = storage == Storage::weights ? weight_values_ : gradient_values_;
  const auto key = std::pair(ref.first, ref.count);
  if (const auto found = cache.find(key); found != cache.end()) return found->second;
  const auto& first = tape_.weights[static_cast<size_t>(ref.first)];
  const auto& groups = tape_.program.groups;
  const auto group =
      std::find_if(groups.begin(), groups.end(), [&](const auto& g) { return g.name == first.group; });
  GALV_ASSERT(group != groups.end(), first.group);
  int64_t elements = 0;
  for (int32_t i = 0; i < ref.count; ++i) {
    const auto& w = tape_.weights[static_cast<size_t>(ref.first + i)];
    GALV_ASSERT(w.group == first.group && w.parameter.offset == first.parameter.offset + elements,
                w.parameter.name);
    elements += w.parameter.local_elements();
  }
  const bool matrix = first.parameter.rows > 1;
  const auto cols = matrix ? first.parameter.local_cols : elements;
  const auto dtype = storage == Storage::weights ? group->dtype : group->accumulator();
  Value value{first.parameter.name, elements / cols, cols, dtype, storage};
  value.group = static_cast<int32_t>(group - groups.begin());
  value.offset = first.parameter.offset * core::size_of(dtype);
  tape_.program.values.push_back(value);
  tape_.keep.push_back(Keep::no);
  return cache[key] = static_cast<ValueId>(tape_.program.values.size()) - 1;
}

Operand Assembler::whole(ValueId id) const {
  if (id == no_value) return {};
  const auto& v = tape_.program.value(id);
  return {id, 0, v.rows, 0, v.cols};
}

Operand Assembler::row_range(ValueId id, int64_t row, int64_t rows) const {
  return {id, row, rows, 0, tape_.program.value(id).cols};
}

Operand Assembler::columns(ValueId id, int64_t col, int64_t cols) const {
  return {id, 0, tape_.program.value(id).rows, col, cols};
}

Operand Assembler::stretch(WeightRef ref, Storage storage) {
  if (!ref.present()) return {};
  const auto all = whole(parameter_value(ref, storage));
  if (ref.rows == 0) return all;
  return all.rows > 1 ? row_range(all.value, ref.row, ref.rows) : columns(all.value, ref.row, ref.rows);
}

Operand Assembler::weight_operand(WeightRef ref) {
  return stretch(ref, Storage::weights);
}

Operand Assembler::gradient_operand(WeightRef ref) {
  return stretch(ref, Storage::gradients);
}

void Assembler::emit(const Op& op, Phase phase, const Renames& renames) {
  auto at = [&](ValueId id) {
    const auto renamed = renames.find(id);
    return whole(renamed == renames.end() ? id : renamed->second);
  };
  auto input = [&](size_t i) { return at(op.inputs[i]); };
  auto output = [&](size_t i) { return at(op.outputs[i]); };
  auto weight = [&](size_t i) { return weight_operand(op.weights[i]); };
  switch (op.kind) {
    case OpKind::norm:
      push(phase,
           {StepKind::norm, {input(0), weight(0), weight(1)}, {output(0), output(1)}, op.attributes, {}});
      break;
    case OpKind::linear:
      return emit_linear(op, phase, input(0), output(0).value);
    case OpKind::activation:
      push(phase, {StepKind::activation, {input(0)}, {output(0)}, op.attributes, {}});
      break;
    case OpKind::attention:
      return emit_attention(op, phase, input(0).value, output(0).value, output(1).value);
    case OpKind::rope:
      push(phase, {StepKind::rope, {input(0)}, {output(0)}, op.attributes, {}});
      break;
    case OpKind::to_heads:
      return emit_to_heads(op, phase, input(0).value, output(0).value);
    case OpKind::to_tokens:
      return emit_to_tokens(op, phase, input(0).value, output(0).value);
    case OpKind::add:
      push(phase, {StepKind::add, {input(0), input(1), weight(0)}, {output(0)}, {}, {}});
      break;
    case OpKind::embedding:
      push(phase, {StepKind::embedding, {input(0), weight(0)}, {output(0)}, op.attributes, {}});
      break;
    case OpKind::positions:
      push(phase, {StepKind::positions, {input(0), weight(0)}, {output(0)}, op.attributes, {}});
      break;
    case OpKind::gather_tokens:
    case OpKind::scatter_tokens:
      push(phase, {StepKind::collective, {input(0)}, {output(0)}, op.attributes, {}});
      break;
    case OpKind::cross_entropy:
      emit_cross_entropy(op, phase);
      break;
  }
}

void Assembler::emit_linear(const Op& op, Phase phase, Operand x, ValueId y) {
  int64_t col = 0;
  for (size_t i = 0; i < op.weights.size(); i += 2) {
    const auto weight = weight_operand(op.weights[i]);
    push(phase, {StepKind::gemm,
                 {x, weight, weight_operand(op.weights[i + 1])},
                 {columns(y, col, weight.rows)},
                 GemmAttributes{core::Transpose::no, core::Transpose::yes, core::Write::overwrite},
                 {}});
    col += weight.rows;
  }
}

void Assembler::emit_attention(const Op& op, Phase phase, ValueId qkv, ValueId out, ValueId lse) {
  if (tape_.program.strategy.cp > 1) return emit_ring(op, phase, qkv, out, lse);
  const auto& a = std::get<AttentionAttributes>(op.attributes);
  const auto q = a.heads * a.head_dim, kv = a.kv_heads * a.head_dim;
  push(phase, {StepKind::attention,
               {columns(qkv, 0, q), columns(qkv, q, kv), columns(qkv, q + kv, kv)},
               {whole(out), whole(lse)},
               a,
               {}});
}

void Assembler::emit_cross_entropy(const Op& op, Phase phase) {
  auto attributes = std::get<CrossEntropyAttributes>(op.attributes);
  if (phase == Phase::evaluate) attributes.scale = 0.0;
  const auto tp = tape_.program.strategy.tp;
  const auto h = op.inputs[0], labels = op.inputs[1], dh = op.outputs[0], loss = op.outputs[1];
  const auto table = weight_operand(op.weights[0]);
  const auto rows = tape_.program.value(h).rows, chunk = chunk_rows_for(rows, table.rows);
  const auto dtype = tape_.program.dtype;
  const auto logits = new_work("logits", chunk, table.rows, dtype);
  const auto stats = new_work("loss.stats", 3, chunk, accumulator());
  auto reduce = [&](core::ReduceOp op_kind, Operand data) {
    push(phase, {StepKind::collective,
                 {},
                 {data},
                 CollectiveAttributes{core::CollectiveKind::all_reduce, op_kind, spec::Axis::tp, tp},
                 {}});
  };
  for (int64_t row = 0; row < rows; row += chunk) {
    const auto count = std::min(chunk, rows - row);
    const auto part = row_range(logits, 0, count), h_part = row_range(h, row, count);
    // A short last chunk would leave gaps between the statistics: it sees the first `count` of each.
    const Operand statistics{stats, 0, 3, 0, count};
    push(phase, {StepKind::gemm,
                 {h_part, table, {}},
                 {part},
                 GemmAttributes{core::Transpose::no, core::Transpose::yes, core::Write::overwrite},
                 {}});
    auto loss_step = [&](core::CrossEntropyPhase which) {
      attributes.phase = which;
      push(phase, {StepKind::cross_entropy,
                   {columns(labels, row, count)},
                   {part, statistics, whole(loss)},
                   attributes,
                   {}});
    };
    if (tp == 1) {
      loss_step(core::CrossEntropyPhase::whole);
    } else {
      loss_step(core::CrossEntropyPhase::maximum);
      reduce(core::ReduceOp::max, {stats, 0, 1, 0, chunk});
      loss_step(core::CrossEntropyPhase::exponentials);
      reduce(core::ReduceOp::sum, row_range(stats, 1, 2));
      loss_step(core::CrossEntropyPhase::gradient);
    }
    if (phase == Phase::evaluate) continue;
    push(phase, {StepKind::gemm, {part, table, {}}, {row_range(dh, row, count)}, GemmAttributes{}, {}});
    push(phase, {StepKind::gemm,
                 {part, h_part, {}},
                 {gradient_operand(op.weights[0])},
                 GemmAttributes{core::Transpose::yes, core::Transpose::no, core::Write::accumulate},
                 {}});
  }
}

}  // namespace galvatron::program
