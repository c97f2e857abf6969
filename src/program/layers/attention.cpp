// Causal multi-head attention: x + out(attention(qkv(norm(x)))). Heads are split over tp (Shoeybi et al.,
// arXiv 1909.08053) and, for the attention alone, over sp (Jacobs et al., arXiv 2309.14509); with cp the keys
// and values travel (Liu et al., arXiv 2310.01889). Fewer key/value heads than query heads is grouped-query
// attention (Ainslie et al., arXiv 2305.13245); rotary positions are Su et al.'s (arXiv 2104.09864).

#include "program/layers/kinds.hpp"
#include "program/layers/rules.hpp"

namespace galvatron::program {
namespace {

std::optional<std::string> illegal(const spec::LayerDims& d, const spec::LayerStrategy& s) {
  return heads_illegal(d, s);
}

/// Columns of queries, keys and values. K/V weights that several ranks of tp need are held whole by all of
/// them.
ValueId project(Builder& b, ValueId h) {
  const auto& d = b.dims();
  const auto q = d.heads * d.head_dim, kv = d.kv_heads * d.head_dim;
  const bool split = b.heads().keys_split;
  const WeightOptions by_head{.split = Split::rows, .std = d.init_std};
  const WeightOptions whole{.split = Split::none, .std = d.init_std};
  const auto wq = b.weight("q.weight", q, d.hidden, by_head);
  const auto wk = b.weight("k.weight", kv, d.hidden, split ? by_head : whole);
  const auto wv = b.weight("v.weight", kv, d.hidden, split ? by_head : whole);
  WeightRef bq, bk, bv;
  if (d.bias) {
    const auto kv_split = split ? Split::rows : Split::none;
    bq = b.vector("q.bias", q, InitKind::zeros, Split::rows);
    bk = b.vector("k.bias", kv, InitKind::zeros, kv_split);
    bv = b.vector("v.bias", kv, InitKind::zeros, kv_split);
  }
  if (split) return b.linear(h, b.stack({wq, wk, wv}), d.bias ? b.stack({bq, bk, bv}) : WeightRef{});
  auto needed = [&](WeightRef weight) {
    return weight.present() ? Builder::rows_of(weight, b.heads().keys.first * d.head_dim,
                                               b.heads().keys.count * d.head_dim)
                            : weight;
  };
  return b.linear(h, {{wq, bq}, {needed(wk), needed(bk)}, {needed(wv), needed(bv)}});
}

std::optional<ValueId> forward(Builder& b) {
  const auto& d = b.dims();
  const auto x = b.input();
  auto h = b.norm(x, "norm");
  h = b.enter_tensor_parallel(h);
  h = project(b, h);
  if (d.position == spec::PositionKind::rotary) h = b.rope(h);
  h = b.tokens_to_heads(h);
  h = b.attention(h);
  h = b.heads_to_tokens(h);
  const auto wo =
      b.weight("out.weight", d.hidden, d.heads * d.head_dim, {.split = Split::cols, .std = d.output_std});
  const auto bo = d.bias ? b.vector("out.bias", d.hidden, InitKind::zeros) : WeightRef{};
  return b.add(x, b.leave_tensor_parallel(b.linear(h, wo)), bo);
}

}  // namespace

const LayerKind attention_kind{"attention", illegal, forward};

}  // namespace galvatron::program
