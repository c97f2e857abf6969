#pragma once
// Small models for tests of the think rooms, made without a deck.

#include <string>

#include "spec/model.hpp"

namespace galvatron::test {

/// embedding, (attention, mlp) × blocks, head; GPT-like, tied unless said otherwise.
inline spec::ModelSpec small_model(int64_t blocks, bool tied = true, int64_t hidden = 32) {
  spec::LayerDims dims;
  dims.hidden = hidden;
  dims.heads = dims.kv_heads = 4;
  dims.head_dim = hidden / 4;
  dims.ffn = 4 * hidden;
  dims.vocab = 64;
  dims.seq = 16;
  dims.tied = tied;
  spec::ModelSpec model;
  model.vocab = dims.vocab;
  model.seq = dims.seq;
  const auto add = [&](const std::string& kind, const std::string& name) {
    model.layers.push_back({kind, dims});
    model.names.push_back(name);
  };
  add("embedding", "embedding");
  for (int64_t block = 0; block < blocks; ++block) {
    add("attention", "blocks." + std::to_string(block) + ".attention");
    add("mlp", "blocks." + std::to_string(block) + ".mlp");
  }
  add("head", "head");
  return model;
}

}  // namespace galvatron::test
