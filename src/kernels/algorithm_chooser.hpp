#pragma once
// Chooses among the algorithms that a device offers for a call: a matrix product, an attention. Knows neither
// the library nor the device: candidates come as texts, and their seconds from whoever can run them.

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "core/algorithm_choices.hpp"

namespace galvatron::kernels {

/// An algorithm of a product as the library describes it to itself, and as text.
using AlgorithmBytes = std::array<std::byte, 64>;

std::string hex_of(const AlgorithmBytes& algorithm);
/// Nothing when the text is not 128 digits of hex.
std::optional<AlgorithmBytes> algorithm_of(std::string_view hex);

class AlgorithmChooser {
 public:
  /// given: what was kept, else the first candidate. measured: what was kept, else the fastest, which is kept
  /// from then on.
  enum class Mode : uint8_t { given, measured };
  static constexpr int64_t most_candidates = 4;

  AlgorithmChooser(std::string library, std::string device) {
    choices_.library = std::move(library);
    choices_.device = std::move(device);
  }

  void set_mode(Mode mode) { mode_ = mode; }
  /// How many candidates are worth asking for.
  int64_t wanted() const { return mode_ == Mode::measured ? most_candidates : 1; }

  /// Keeps what `stored` says about calls; how many that are: none when it is of another version of the
  /// library or another device.
  int64_t use(const core::AlgorithmChoices& stored);

  /// What was kept for a call.
  std::optional<std::string> kept(const std::string& call) const;
  /// Which of the candidates (the best guess first, at least one) to use where nothing was kept. Equal
  /// seconds: the first.
  size_t choose(const std::string& call, std::span<const std::string> candidates,
                const std::function<double(size_t)>& seconds_of);

  const core::AlgorithmChoices& choices() const { return choices_; }

 private:
  Mode mode_ = Mode::given;
  core::AlgorithmChoices choices_;
};

}  // namespace galvatron::kernels
