#pragma once
// Which algorithm makes which call of a device: measured once and kept in the profile, so that runs repeat
// their bits and nobody measures while training.

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>

namespace galvatron::core {

/// The steps that a device may have a choice for.
enum class ChosenStep : uint8_t { products, attention };
inline constexpr std::array all_chosen_steps = {ChosenStep::products, ChosenStep::attention};

/// "products", "attention".
constexpr std::string_view name_of(ChosenStep step) {
  return step == ChosenStep::products ? "products" : "attention";
}

/// Holds for one version of the library on one kind of device only.
struct AlgorithmChoices {
  std::string library;                            ///< name and version
  std::string device;                             ///< its kind
  std::map<std::string, std::string> algorithms;  ///< call → algorithm, in the library's own terms
  bool operator==(const AlgorithmChoices&) const = default;
};

}  // namespace galvatron::core
