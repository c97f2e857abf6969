#pragma once
// Which algorithm of a library makes which matrix product: measured once on a device and kept in the profile,
// so that runs repeat their bits and nobody measures while training.

#include <map>
#include <string>

namespace galvatron::core {

/// Holds for one version of the library on one kind of device only.
struct ProductChoices {
  std::string library;                            ///< name and version
  std::string device;                             ///< its kind
  std::map<std::string, std::string> algorithms;  ///< product → algorithm, as the library's bytes in hex
  bool operator==(const ProductChoices&) const = default;
};

}  // namespace galvatron::core
