// Files and decks write names with underscores, texts for people with hyphens.
#include "core/hyphenated.hpp"

#include <algorithm>

namespace galvatron::core {

std::string hyphenated(std::string_view name) {
  std::string text(name);
  std::replace(text.begin(), text.end(), '_', '-');
  return text;
}

}  // namespace galvatron::core
