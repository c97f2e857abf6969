#pragma once
// The network as numbers: an ordered list of layers with their dimensions. No weights, no behaviour beyond
// validity.

#include <compare>
#include <cstdint>
#include <string>
#include <vector>

#include "core/compute.hpp"

namespace galvatron::deck {
struct ModelSection;
}

namespace galvatron::spec {

/// How a model knows where a token stands: a learned table added once, or queries and keys turned by their
/// position.
enum class PositionKind : uint8_t { learned, rotary };

/// Dimensions that layer kinds read; a kind ignores what it does not use. Counts are global (before any
/// split).
struct LayerDims {
  int64_t hidden = 0;
  int64_t heads = 0;
  int64_t kv_heads = 0;
  int64_t head_dim = 0;
  int64_t ffn = 0;
  int64_t vocab = 0;
  int64_t seq = 0;
  core::NormKind norm = core::NormKind::layernorm;
  core::ActivationKind activation = core::ActivationKind::gelu;
  PositionKind position = PositionKind::learned;
  double rope_base = 10000.0;
  double norm_eps = 1e-5;
  bool bias = true;          ///< linear layers and norms have one
  bool tied = true;          ///< the head uses the embedding's table
  double init_std = 0.02;    ///< of ordinary weights
  double output_std = 0.02;  ///< of projections back into the residual stream: init_std / √(2 · blocks)

  auto operator<=>(const LayerDims&) const = default;
};

/// One layer: a kind (a row of program's layer table, e.g. "attention") and its dimensions. Equal specs have
/// equal Programs.
struct LayerSpec {
  std::string kind;
  LayerDims dims;

  auto operator<=>(const LayerSpec&) const = default;
};

/// layers = embedding, (attention, mlp) × blocks, head. Names are unique and are the stems of parameter
/// names.
struct ModelSpec {
  std::vector<LayerSpec> layers;
  std::vector<std::string> names;  ///< "embedding", "blocks.0.attention", …, "head"
  int64_t vocab = 0;
  int64_t seq = 0;

  int64_t size() const { return static_cast<int64_t>(layers.size()); }
  bool tied() const;
};

/// The model a deck describes. The deck has been checked already.
ModelSpec model_from_deck(const deck::ModelSection& model);

/// A short stable text over everything that changes the model's numbers.
std::string fingerprint(const ModelSpec& model);

}  // namespace galvatron::spec
