// Facts about a model that follow from its list of layers alone.

#include "spec/model.hpp"

#include <algorithm>

#include "core/fingerprint.hpp"
#include "core/format.hpp"

namespace galvatron::spec {

bool ModelSpec::tied() const {
  // The head is the last layer, and this is asked for every layer of every plan.
  return !layers.empty() && layers.back().kind == "head" && layers.back().dims.tied;
}

std::string fingerprint(const ModelSpec& model) {
  std::string text;
  for (const auto& layer : model.layers) {
    const auto& d = layer.dims;
    text += core::format("{} {} {} {} {} {} {} {} {:a} {} {} {:a} {:a}", layer.kind, d.hidden, d.heads,
                         d.kv_heads, d.head_dim, d.ffn, d.vocab, d.seq, d.norm_eps, d.bias, d.tied,
                         d.init_std, d.output_std);
    if (d.norm != core::NormKind::layernorm) text += " rmsnorm";
    if (d.activation != core::ActivationKind::gelu) text += " swiglu";
    if (d.position != PositionKind::learned) text += core::format(" rotary {:a}", d.rope_base);
    text += '\n';
  }
  return core::fingerprint(text);
}

}  // namespace galvatron::spec
