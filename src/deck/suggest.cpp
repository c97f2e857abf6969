// Edit distance with insertions, deletions, replacements and swaps of neighbours (optimal string alignment).
#include "deck/suggest.hpp"

#include <algorithm>
#include <cctype>
#include <cstdint>

namespace galvatron::deck {
namespace {

int64_t distance(std::string_view a, std::string_view b) {
  const size_t columns = b.size() + 1;
  std::vector<int64_t> rows((a.size() + 1) * columns);
  const auto at = [&](size_t i, size_t j) -> int64_t& { return rows[i * columns + j]; };
  for (size_t i = 0; i <= a.size(); ++i) at(i, 0) = static_cast<int64_t>(i);
  for (size_t j = 0; j <= b.size(); ++j) at(0, j) = static_cast<int64_t>(j);
  for (size_t i = 1; i <= a.size(); ++i) {
    for (size_t j = 1; j <= b.size(); ++j) {
      at(i, j) = std::min({at(i - 1, j) + 1, at(i, j - 1) + 1, at(i - 1, j - 1) + (a[i - 1] != b[j - 1])});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        at(i, j) = std::min(at(i, j), at(i - 2, j - 2) + 1);
      }
    }
  }
  return at(a.size(), b.size());
}

std::string lowered(std::string_view text) {
  std::string out(text);
  for (char& c : out) c = c == '-' ? '_' : static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return out;
}

}  // namespace

std::string nearest(std::string_view word, const std::vector<std::string>& candidates) {
  constexpr size_t longest_word = 64;
  if (word.size() > longest_word) return {};
  const std::string wanted = lowered(word);
  std::string best;
  int64_t best_distance = 1 + std::max<int64_t>(1, static_cast<int64_t>(word.size()) / 3);
  for (const auto& candidate : candidates) {
    const int64_t d = distance(wanted, lowered(candidate));
    if (d < best_distance && d < static_cast<int64_t>(candidate.size())) {
      best_distance = d;
      best = candidate;
    }
  }
  return best;
}

}  // namespace galvatron::deck
