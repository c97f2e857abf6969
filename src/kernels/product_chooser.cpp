// Hex, and the fastest of a few.

#include "kernels/product_chooser.hpp"

#include <algorithm>

namespace galvatron::kernels {
namespace {

constexpr std::string_view digits = "0123456789abcdef";

}  // namespace

std::string hex_of(const Algorithm& algorithm) {
  std::string text;
  for (const auto byte : algorithm) {
    text += digits[static_cast<size_t>(byte >> 4)];
    text += digits[static_cast<size_t>(byte & std::byte{15})];
  }
  return text;
}

std::optional<Algorithm> algorithm_of(std::string_view hex) {
  Algorithm algorithm{};
  if (hex.size() != 2 * algorithm.size()) return std::nullopt;
  for (size_t i = 0; i < algorithm.size(); ++i) {
    const auto high = digits.find(hex[2 * i]), low = digits.find(hex[2 * i + 1]);
    if (high == digits.npos || low == digits.npos) return std::nullopt;
    algorithm[i] = static_cast<std::byte>(16 * high + low);
  }
  return algorithm;
}

int64_t ProductChooser::use(const core::ProductChoices& stored) {
  if (stored.library != choices_.library || stored.device != choices_.device) return 0;
  for (const auto& [product, algorithm] : stored.algorithms) choices_.algorithms[product] = algorithm;
  return static_cast<int64_t>(stored.algorithms.size());
}

std::optional<Algorithm> ProductChooser::kept(const std::string& product) const {
  const auto found = choices_.algorithms.find(product);
  return found == choices_.algorithms.end() ? std::nullopt : algorithm_of(found->second);
}

size_t ProductChooser::choose(const std::string& product, std::span<const Algorithm> candidates,
                              const std::function<double(size_t)>& seconds_of) {
  if (mode_ == Mode::given) return 0;
  size_t best = 0;
  if (candidates.size() > 1) {
    double least = seconds_of(0);
    for (size_t i = 1; i < candidates.size(); ++i)
      if (const auto seconds = seconds_of(i); seconds < least) {
        best = i;
        least = seconds;
      }
  }
  choices_.algorithms[product] = hex_of(candidates[best]);
  return best;
}

}  // namespace galvatron::kernels
