#pragma once
// Chooses among the algorithms that a library offers for a matrix product. Knows neither the library nor the
// device: candidates come as bytes, and their seconds from whoever can run them.

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "core/product_choices.hpp"

namespace galvatron::kernels {

/// An algorithm as the library describes it to itself.
using Algorithm = std::array<std::byte, 64>;

std::string hex_of(const Algorithm& algorithm);
/// Nothing when the text is not 128 digits of hex.
std::optional<Algorithm> algorithm_of(std::string_view hex);

class ProductChooser {
 public:
  /// given: what was kept, else the library's first candidate. measured: what was kept, else the fastest,
  /// which is kept from then on.
  enum class Mode : uint8_t { given, measured };
  static constexpr int64_t most_candidates = 4;

  ProductChooser(std::string library, std::string device) {
    choices_.library = std::move(library);
    choices_.device = std::move(device);
  }

  void set_mode(Mode mode) { mode_ = mode; }
  /// How many candidates are worth asking for.
  int64_t wanted() const { return mode_ == Mode::measured ? most_candidates : 1; }

  /// Keeps what `stored` says about products; how many that are: none when it is of another version of the
  /// library or another device.
  int64_t use(const core::ProductChoices& stored);

  /// What was kept for a product.
  std::optional<Algorithm> kept(const std::string& product) const;
  /// Which of the candidates (the library's best guess first, at least one) to use where nothing was kept.
  /// Equal seconds: the first.
  size_t choose(const std::string& product, std::span<const Algorithm> candidates,
                const std::function<double(size_t)>& seconds_of);

  const core::ProductChoices& choices() const { return choices_; }

 private:
  Mode mode_ = Mode::given;
  core::ProductChoices choices_;
};

}  // namespace galvatron::kernels
