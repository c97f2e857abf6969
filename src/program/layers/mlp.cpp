// Feed-forward: x + down(f(up(norm(x)))) with f = gelu, or gated with swiglu. Columns of up and rows of down
// are split over tp (Shoeybi et al., arXiv 1909.08053).

#include "program/layers/kinds.hpp"
#include "program/layers/rules.hpp"

namespace galvatron::program {
namespace {

std::optional<std::string> illegal(const spec::LayerDims& d, const spec::LayerStrategy& s) {
  return must_divide("ffn", d.ffn, "tp", s.tp);
}

/// Gated: the columns of gate, then those of up (Shazeer, arXiv 2002.05202).
ValueId widen(Builder& b, ValueId h) {
  const auto& d = b.dims();
  const WeightOptions by_column{.split = Split::rows, .std = d.init_std};
  const bool gated = d.activation == core::ActivationKind::swiglu;
  WeightRef gate, gate_bias;
  if (gated) gate = b.weight("gate.weight", d.ffn, d.hidden, by_column);
  const auto up = b.weight("up.weight", d.ffn, d.hidden, by_column);
  if (gated && d.bias) gate_bias = b.vector("gate.bias", d.ffn, InitKind::zeros, Split::rows);
  const auto bias = d.bias ? b.vector("up.bias", d.ffn, InitKind::zeros, Split::rows) : WeightRef{};
  if (!gated) return b.linear(h, up, bias);
  return b.linear(h, b.stack({gate, up}), d.bias ? b.stack({gate_bias, bias}) : WeightRef{});
}

std::optional<ValueId> forward(Builder& b) {
  const auto& d = b.dims();
  const auto x = b.input();
  auto h = b.norm(x, "norm");
  h = b.enter_tensor_parallel(h);
  h = b.activation(widen(b, h));
  const auto down = b.weight("down.weight", d.hidden, d.ffn, {.split = Split::cols, .std = d.output_std});
  const auto bias = d.bias ? b.vector("down.bias", d.hidden, InitKind::zeros) : WeightRef{};
  return b.add(x, b.leave_tensor_parallel(b.linear(h, down)), bias);
}

}  // namespace

const LayerKind mlp_kind{"mlp", illegal, forward};

}  // namespace galvatron::program
