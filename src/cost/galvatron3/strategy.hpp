#pragma once
// A strategy of the Python Galvatron 3.0: how one of its layers is split. It differs from ours: tensor and
// sequence parallelism exclude each other, and sharding is a kind of data parallelism.

#include <compare>
#include <cstdint>
#include <string>

#include "spec/strategy.hpp"

namespace galvatron::cost::galvatron3 {

/// What data-parallel replicas share: nothing, gradients and optimizer state, parameters too.
enum class DpType : uint8_t { ddp, zero2, zero3 };

const char* name_of(DpType type);

/// A regular value in the order in which Galvatron 3.0 sorts.
struct Strategy {
  int64_t pp = 1;
  int64_t tp = 1;
  int64_t sp = 1;  ///< Ulysses; tp or sp is 1
  int64_t cp = 1;
  int64_t dp = 1;
  DpType type = DpType::ddp;
  spec::Recompute recompute = spec::Recompute::none;

  /// tp or sp, whichever is larger: the degree by which its tables are looked up.
  int64_t width() const { return tp > sp ? tp : sp; }
  /// Ranks over which states are sharded and gradients summed.
  int64_t replicas() const { return dp * sp * cp; }
  bool recomputes() const { return recompute == spec::Recompute::full; }
  auto operator<=>(const Strategy&) const = default;
};

/// As Galvatron prints it: "2-4*-1-c-sp" = pp, width, dp; "*" for a width above 1, "f" for ZeRO-3, "-c" for
/// recomputation, "-sp" for Ulysses. cp is not in it.
std::string to_string(const Strategy& strategy);

}  // namespace galvatron::cost::galvatron3
