// Hex, and the fastest of a few.

#include "kernels/algorithm_chooser.hpp"

#include <algorithm>

namespace galvatron::kernels {
namespace {

constexpr std::string_view digits = "0123456789abcdef";

}  // namespace

std::string hex_of(const AlgorithmBytes& algorithm) {
  std::string text;
  for (const auto byte : algorithm) {
    text += digits[static_cast<size_t>(byte >> 4)];
    text += digits[static_cast<size_t>(byte & std::byte{15})];
  }
  return text;
}

std::optional<AlgorithmBytes> algorithm_of(std::string_view hex) {
  AlgorithmBytes algorithm{};
  if (hex.size() != 2 * algorithm.size()) return std::nullopt;
  for (size_t i = 0; i < algorithm.size(); ++i) {
    const auto high = digits.find(hex[2 * i]), low = digits.find(hex[2 * i + 1]);
    if (high == digits.npos || low == digits.npos) return std::nullopt;
    algorithm[i] = static_cast<std::byte>(16 * high + low);
  }
  return algorithm;
}

int64_t AlgorithmChooser::use(const core::AlgorithmChoices& stored) {
  if (stored.library != choices_.library || stored.device != choices_.device) return 0;
  for (const auto& [call, algorithm] : stored.algorithms) choices_.algorithms[call] = algorithm;
  return static_cast<int64_t>(stored.algorithms.size());
}

std::optional<std::string> AlgorithmChooser::kept(const std::string& call) const {
  const auto found = choices_.algorithms.find(call);
  return found == choices_.algorithms.end() ? std::nullopt : std::optional(found->second);
}

size_t AlgorithmChooser::choose(const std::string& call, std::span<const std::string> candidates,
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
  choices_.algorithms[call] = candidates[best];
  return best;
}

}  // namespace galvatron::kernels
