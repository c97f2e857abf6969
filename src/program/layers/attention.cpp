// Causal multi-head attention: x + out(attention(qkv(norm(x)))). Heads are split over tp (Shoeybi et al.,
// arXiv 1909.08053); fewer key/value heads than query heads is grouped-query attention (Ainslie et al., arXiv
// 2305.13245).

#include "core/format.hpp"
#include "program/layers/kinds.hpp"
#include "program/layers/rules.hpp"

namespace galvatron::program {
namespace {

std::optional<std::string> illegal(const spec::LayerDims& d, const spec::LayerStrategy& s) {
  if (auto reason = must_divide("heads", d.heads, "tp", s.tp)) return reason;
  return must_divide("kv_heads", d.kv_heads, "tp", s.tp);
}

std::optional<ValueId> forward(Builder& b) {
  const auto& d = b.dims();
  const auto q = d.heads * d.head_dim, kv = d.kv_heads * d.head_dim;
  const auto x = b.input();
  auto h = b.norm(x, "norm");
  h = b.enter_tensor_parallel(h);
  const WeightOptions by_head{.split = Split::rows, .std = d.init_std};
  const auto wq = b.weight("q.weight", q, d.hidden, by_head);
  const auto wk = b.weight("k.weight", kv, d.hidden, by_head);
  const auto wv = b.weight("v.weight", kv, d.hidden, by_head);
  WeightRef bias;
  if (d.bias) {
    const auto bq = b.vector("q.bias", q, InitKind::zeros, Split::rows);
    const auto bk = b.vector("k.bias", kv, InitKind::zeros, Split::rows);
    const auto bv = b.vector("v.bias", kv, InitKind::zeros, Split::rows);
    bias = b.stack({bq, bk, bv});
  }
  h = b.linear(h, b.stack({wq, wk, wv}), bias);
  h = b.attention(h, b.share(d.heads), b.share(d.kv_heads));
  const auto wo = b.weight("out.weight", d.hidden, q, {.split = Split::cols, .std = d.output_std});
  const auto bo = d.bias ? b.vector("out.bias", d.hidden, InitKind::zeros) : WeightRef{};
  return b.add(x, b.leave_tensor_parallel(b.linear(h, wo)), bo);
}

}  // namespace

const LayerKind attention_kind{"attention", illegal, forward};

}  // namespace galvatron::program
