// A deck's [model] section as a list of layers.

#include <cmath>

#include "core/format.hpp"
#include "deck/sections.hpp"
#include "spec/model.hpp"

namespace galvatron::spec {

ModelSpec model_from_deck(const deck::ModelSection& section) {
  LayerDims dims;
  dims.hidden = section.hidden;
  dims.heads = section.heads;
  dims.kv_heads = section.kv_heads;
  dims.head_dim = section.hidden / section.heads;
  dims.ffn = section.ffn;
  dims.vocab = section.vocab;
  dims.seq = section.seq;
  dims.norm = section.norm == "rmsnorm" ? core::NormKind::rmsnorm : core::NormKind::layernorm;
  dims.activation =
      section.activation == "swiglu" ? core::ActivationKind::swiglu : core::ActivationKind::gelu;
  dims.position = section.position == "rope" ? PositionKind::rotary : PositionKind::learned;
  dims.rope_base = section.rope_base;
  dims.norm_eps = section.norm_eps;
  dims.bias = section.bias;
  dims.tied = section.tie_embeddings;
  dims.init_std = section.init_std;
  dims.output_std = section.init_std / std::sqrt(2.0 * static_cast<double>(section.layers));

  ModelSpec model;
  model.vocab = section.vocab;
  model.seq = section.seq;
  auto append = [&](const std::string& kind, const std::string& name) {
    model.layers.push_back({kind, dims});
    model.names.push_back(name);
  };
  append("embedding", "embedding");
  for (int64_t block = 0; block < section.layers; ++block) {
    append("attention", core::format("blocks.{}.attention", block));
    append("mlp", core::format("blocks.{}.mlp", block));
  }
  append("head", "head");
  return model;
}

}  // namespace galvatron::spec
