#pragma once
// How one layer is split: the unit of choice of the search and the unit of meaning of the runtime.

#include <compare>
#include <cstdint>
#include <string>

namespace galvatron::spec {

/// none: backward keeps what it cannot derive cheaply. full: it keeps only the layer's input and runs forward
/// again.
enum class Recompute : uint8_t { none, full };

/// A regular value: ordered, hashable, printable. tp·sp·cp·dp = ranks of the stage; ep divides dp·sp·cp
/// (experts only). zero: what is sharded over the dp·cp·sp replicas: 0 nothing, 1 optimizer state, 2 +
/// gradients, 3 + parameters (Rajbhandari et al., arXiv 1910.02054).
struct LayerStrategy {
  int32_t tp = 1;
  int32_t sp = 1;
  int32_t cp = 1;
  int32_t dp = 1;
  int32_t ep = 1;
  int32_t zero = 0;
  Recompute recompute = Recompute::none;

  int64_t ranks() const { return int64_t{tp} * sp * cp * dp; }
  auto operator<=>(const LayerStrategy&) const = default;
};

/// "tp2 dp4 zero3 recompute"; degrees of 1 are left out; "single" when nothing is split.
std::string to_string(const LayerStrategy& strategy);

}  // namespace galvatron::spec

template <>
struct std::hash<galvatron::spec::LayerStrategy> {
  size_t operator()(const galvatron::spec::LayerStrategy& s) const noexcept {
    uint64_t h = 1469598103934665603ull;
    for (int64_t part : {s.tp, s.sp, s.cp, s.dp, s.ep, s.zero, static_cast<int32_t>(s.recompute)})
      h = (h ^ static_cast<uint64_t>(part)) * 1099511628211ull;
    return static_cast<size_t>(h);
  }
};
