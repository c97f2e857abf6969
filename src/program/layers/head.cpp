// Final norm, logits against the (tied) token table, next-token loss. Split over tp by vocabulary. Loss,
// logits' gradient and the table's gradient are made chunk by chunk in forward, so tokens × vocabulary never
// exists and backward has little left to do.

#include "program/layers/kinds.hpp"

namespace galvatron::program {
namespace {

std::optional<std::string> illegal(const spec::LayerDims&, const spec::LayerStrategy& s) {
  if (s.recompute == spec::Recompute::full)
    return "the head's gradient is made in its forward: use recompute = none";
  return std::nullopt;
}

std::optional<ValueId> forward(Builder& b) {
  const auto& d = b.dims();
  auto h = b.norm(b.input(), "norm");
  h = b.enter_tensor_parallel(h);
  WeightOptions table{
      .split = Split::rows, .std = d.init_std, .group = "vocabulary", .gradient_phase = Phase::forward};
  if (d.tied) table.owner = "embedding";
  b.cross_entropy(h, b.weight("tokens.weight", d.vocab, d.hidden, table), b.labels());
  return std::nullopt;
}

}  // namespace

const LayerKind head_kind{"head", illegal, forward};

}  // namespace galvatron::program
