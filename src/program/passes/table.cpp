// The one list of passes, in the order in which they run, and what they share.

#include "program/passes/pass.hpp"

namespace galvatron::program {

std::span<const Pass> passes() {
  static const Pass table[] = {recompute_pass, zero_pass, grad_sync_pass, update_pass};
  return table;
}

Operand GroupWriter::flat(Storage storage, int64_t elements) {
  const bool working = storage == Storage::weights || storage == Storage::weight_shard;
  Value value{spec().name, 1, elements, working ? spec().dtype : spec().accumulator(), storage, group, 0};
  program.values.push_back(value);
  return {static_cast<ValueId>(program.values.size()) - 1, 0, 1, 0, elements};
}

Step GroupWriter::collective(core::CollectiveKind kind, Operand in, Operand out) const {
  CollectiveAttributes attributes{kind, core::ReduceOp::sum, spec().axes, spec().replicas, true};
  std::vector<Operand> reads;
  if (kind != core::CollectiveKind::all_reduce) reads.push_back(in);
  return {StepKind::collective, std::move(reads), {out}, attributes, {}};
}

}  // namespace galvatron::program
