// The one list of passes, in the order in which they run, and what they share.

#include "program/passes/pass.hpp"

namespace galvatron::program {

std::span<const Pass> passes() {
  static const Pass table[] = {recompute_pass, zero_pass, grad_sync_pass, update_pass};
  return table;
}

Operand GroupWriter::flat(Storage storage, int64_t elements) {
  Value value{spec().name, 1, elements, spec().dtype, storage, group, 0};
  program.values.push_back(value);
  return {static_cast<ValueId>(program.values.size()) - 1, 0, 1, 0, elements};
}

Operand GroupWriter::work(const char* name, int64_t elements) {
  program.values.push_back({name, 1, elements, spec().dtype, Storage::work});
  return {static_cast<ValueId>(program.values.size()) - 1, 0, 1, 0, elements};
}

Step GroupWriter::collective(core::CollectiveKind kind, Operand in, Operand out) const {
  CollectiveAttributes attributes{kind, core::ReduceOp::sum, spec().axes, spec().replicas, true};
  std::vector<Operand> reads;
  if (kind != core::CollectiveKind::all_reduce) reads.push_back(in);
  return {StepKind::collective, std::move(reads), {out}, attributes, {}};
}

}  // namespace galvatron::program
