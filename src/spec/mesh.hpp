#pragma once
// Axis sizes ↔ rank numbers. Pure arithmetic: which ranks form the group of an axis set, in which order.

#include <array>
#include <compare>
#include <cstdint>
#include <vector>

#include "core/traffic.hpp"
#include "spec/axes.hpp"
#include "spec/strategy.hpp"

namespace galvatron::spec {

/// Coordinates of one rank inside its stage.
struct Coordinate {
  int32_t tp = 0, sp = 0, cp = 0, dp = 0;
  auto operator<=>(const Coordinate&) const = default;
};

/// One group of ranks (world ranks, in group order) for one class of traffic.
struct RankGroup {
  core::TrafficClass traffic = core::TrafficClass::layer;
  std::vector<int> ranks;

  auto operator<=>(const RankGroup&) const = default;
};

/// The ranks of one stage, `first_rank` … `first_rank + strategy.ranks() − 1`, arranged as tp (fastest) × sp
/// × cp × dp.
class MeshShape {
 public:
  MeshShape(const LayerStrategy& strategy, int64_t first_rank);

  int64_t ranks() const { return strategy_.ranks(); }
  int64_t first_rank() const { return first_rank_; }
  Coordinate coordinate_of(int64_t rank) const;
  int64_t rank_at(const Coordinate& coordinate) const;

  /// The group of `rank`: ranks that differ from it only in the axes of `set`, ascending. `tie` and `ep` are
  /// ignored here.
  std::vector<int> group_of(int64_t rank, AxisSet set) const;
  /// Every group of the axis set, ordered by its lowest rank; together they hold each rank once.
  std::vector<std::vector<int>> groups(AxisSet set) const;
  /// Number of ranks in each group of the set.
  int64_t size_of(AxisSet set) const;

 private:
  LayerStrategy strategy_;
  int64_t first_rank_;
};

}  // namespace galvatron::spec
