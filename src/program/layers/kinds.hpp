#pragma once
// The table of layer kinds: each a name, the rule that says how it may be split, and its forward in the
// Builder's words.

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "program/builder.hpp"

namespace galvatron::program {

struct LayerKind {
  std::string_view name;
  /// Why this kind cannot be split so, with the numbers and the legal degrees; nothing when it can. Rules
  /// common to all kinds (samples, positions, tp·sp·cp·dp) are checked elsewhere.
  std::optional<std::string> (*illegal)(const spec::LayerDims&, const spec::LayerStrategy&);
  /// Appends the forward; the layer's result, or nothing for the layer that ends in the loss.
  std::optional<ValueId> (*forward)(Builder&);
};

std::span<const LayerKind> layer_kinds();

/// Throws core::UserError naming the kinds there are.
const LayerKind& layer_kind(std::string_view name);

extern const LayerKind embedding_kind, attention_kind, mlp_kind, head_kind;

}  // namespace galvatron::program
