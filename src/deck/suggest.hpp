#pragma once
// "Did you mean …?"

#include <string>
#include <string_view>
#include <vector>

namespace galvatron::deck {

/// The candidate nearest to `word` by edit distance, or empty where none is near enough to be meant.
std::string nearest(std::string_view word, const std::vector<std::string>& candidates);

}  // namespace galvatron::deck
