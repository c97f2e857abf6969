// The one list of layer kinds.

#include "core/errors.hpp"
#include "core/format.hpp"
#include "program/layers/kinds.hpp"

namespace galvatron::program {

std::span<const LayerKind> layer_kinds() {
  static const LayerKind table[] = {embedding_kind, attention_kind, mlp_kind, head_kind};
  return table;
}

const LayerKind& layer_kind(std::string_view name) {
  std::vector<std::string> names;
  for (const auto& kind : layer_kinds()) {
    if (kind.name == name) return kind;
    names.emplace_back(kind.name);
  }
  throw core::UserError(core::format("no layer kind '{}'; there are {}", name, core::join(names, ", ")));
}

}  // namespace galvatron::program
