#pragma once
// Seconds of communication: from measured curves where there are some, else from a two-tier latency–bandwidth
// model of hierarchical rings over the measured messages; the latter is always flagged.

#include <cstdint>
#include <vector>

#include "cost/profile.hpp"

namespace galvatron::cost {

/// A duration and how much of it was not measured.
struct Seconds {
  double seconds = 0;
  double modelled = 0;

  Seconds& operator+=(const Seconds& other) {
    seconds += other.seconds;
    modelled += other.modelled;
    return *this;
  }
};

inline Seconds measured_seconds(double seconds) {
  return {seconds, 0};
}
inline Seconds modelled_seconds(double seconds) {
  return {seconds, seconds};
}

/// How the members of a group lie on nodes.
GroupShape shape_of(const std::vector<int>& ranks, int64_t ranks_per_node);

enum class Tier : uint8_t { same_node, across };

class HardwarePrice {
 public:
  explicit HardwarePrice(const HardwareProfile& profile);

  /// `bytes` of the whole tensor. 0 for a group of one. Throws core::UserError when the profile has no
  /// messages of the tier that the group needs.
  Seconds collective(core::CollectiveKind kind, const GroupShape& shape, double bytes) const;
  /// All-reduce of a few numbers: measured, or as many messages one after the other as there are doublings
  /// (Thakur, Rabenseifner, Gropp, IJHPCA 2005).
  Seconds small_reduction(const GroupShape& shape, double bytes) const;
  /// One message between two ranks.
  Seconds transfer(Tier tier, double bytes) const;
  /// FLOP/s and bytes/s of the slowest rank. Throws core::UserError when the profile has none.
  double gemm_flops() const;
  double memory_bytes_per_second() const;

 private:
  double modelled(core::CollectiveKind kind, const GroupShape& shape, double bytes) const;
  double ring_pass(const GroupShape& shape, double bytes) const;
  double message(Tier tier, double bytes) const;

  const HardwareProfile& profile_;
  double latency_[2] = {-1, -1};  // by tier, median over links; −1 = none
  double bandwidth_[2] = {0, 0};
};

}  // namespace galvatron::cost
