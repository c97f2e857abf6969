// Feed-forward: x + down(gelu(up(norm(x)))). Columns of up and rows of down are split over tp (Shoeybi et
// al., arXiv 1909.08053).

#include "core/format.hpp"
#include "program/layers/kinds.hpp"
#include "program/layers/rules.hpp"

namespace galvatron::program {
namespace {

std::optional<std::string> illegal(const spec::LayerDims& d, const spec::LayerStrategy& s) {
  return must_divide("ffn", d.ffn, "tp", s.tp);
}

std::optional<ValueId> forward(Builder& b) {
  const auto& d = b.dims();
  const auto x = b.input();
  auto h = b.norm(x, "norm");
  h = b.enter_tensor_parallel(h);
  const auto up = b.weight("up.weight", d.ffn, d.hidden, {.split = Split::rows, .std = d.init_std});
  const auto up_bias = d.bias ? b.vector("up.bias", d.ffn, InitKind::zeros, Split::rows) : WeightRef{};
  h = b.gelu(b.linear(h, up, up_bias));
  const auto down = b.weight("down.weight", d.hidden, d.ffn, {.split = Split::cols, .std = d.output_std});
  const auto down_bias = d.bias ? b.vector("down.bias", d.hidden, InitKind::zeros) : WeightRef{};
  return b.add(x, b.leave_tensor_parallel(b.linear(h, down)), down_bias);
}

}  // namespace

const LayerKind mlp_kind{"mlp", illegal, forward};

}  // namespace galvatron::program
