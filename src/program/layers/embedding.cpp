// Token table, plus learned positions where the model has them (Radford et al. 2019, GPT-2). The table is
// split by vocabulary: each rank looks up the ids it has, and leaving tensor parallelism sums the pieces.

#include "program/layers/kinds.hpp"

namespace galvatron::program {
namespace {

std::optional<std::string> illegal(const spec::LayerDims&, const spec::LayerStrategy& s) {
  if (s.recompute == spec::Recompute::full)
    return "the embedding saves nothing that recompute could free: use recompute = none";
  return std::nullopt;
}

std::optional<ValueId> forward(Builder& b) {
  const auto& d = b.dims();
  WeightOptions table;
  table.split = Split::rows;
  table.std = d.init_std;
  if (d.tied) table.group = "vocabulary";
  const auto tokens = b.weight("tokens.weight", d.vocab, d.hidden, table);
  const auto look_up = [&] { return b.leave_tensor_parallel(b.embedding(b.tokens(), tokens)); };
  if (d.position != spec::PositionKind::learned) return look_up();
  WeightOptions learned;
  learned.std = d.init_std;
  const auto positions = b.weight("positions.weight", d.seq, d.hidden, learned);
  return b.positions(look_up(), positions);
}

}  // namespace

const LayerKind embedding_kind{"embedding", illegal, forward};

}  // namespace galvatron::program
