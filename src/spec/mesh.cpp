// Rank arithmetic of a stage: coordinates in mixed radix, tp fastest.

#include "spec/mesh.hpp"

#include <algorithm>
#include <utility>

#include "core/errors.hpp"

namespace galvatron::spec {

MeshShape::MeshShape(const LayerStrategy& strategy, int64_t first_rank)
    : strategy_(strategy), first_rank_(first_rank) {
  GALV_ASSERT(strategy.tp >= 1 && strategy.sp >= 1 && strategy.cp >= 1 && strategy.dp >= 1, strategy.tp,
              strategy.sp, strategy.cp, strategy.dp);
}

Coordinate MeshShape::coordinate_of(int64_t rank) const {
  auto index = rank - first_rank_;
  GALV_ASSERT(index >= 0 && index < ranks(), rank, first_rank_, ranks());
  Coordinate c;
  c.tp = static_cast<int32_t>(index % strategy_.tp);
  index /= strategy_.tp;
  c.sp = static_cast<int32_t>(index % strategy_.sp);
  index /= strategy_.sp;
  c.cp = static_cast<int32_t>(index % strategy_.cp);
  c.dp = static_cast<int32_t>(index / strategy_.cp);
  return c;
}

int64_t MeshShape::rank_at(const Coordinate& c) const {
  return first_rank_ + c.tp + strategy_.tp * (c.sp + strategy_.sp * (c.cp + int64_t{strategy_.cp} * c.dp));
}

int64_t MeshShape::size_of(AxisSet set) const {
  int64_t size = 1;
  if (set.contains(Axis::tp)) size *= strategy_.tp;
  if (set.contains(Axis::sp)) size *= strategy_.sp;
  if (set.contains(Axis::cp)) size *= strategy_.cp;
  if (set.contains(Axis::dp)) size *= strategy_.dp;
  return size;
}

/// Ascending: the axis whose neighbours are nearest varies fastest.
std::vector<int> MeshShape::group_of(int64_t rank, AxisSet set) const {
  const auto own = coordinate_of(rank);
  const auto range = [&](Axis axis, int32_t degree, int32_t index) {
    return set.contains(axis) ? std::pair(0, degree) : std::pair(index, index + 1);
  };
  const auto [tp, tp_end] = range(Axis::tp, strategy_.tp, own.tp);
  const auto [sp, sp_end] = range(Axis::sp, strategy_.sp, own.sp);
  const auto [cp, cp_end] = range(Axis::cp, strategy_.cp, own.cp);
  const auto [dp, dp_end] = range(Axis::dp, strategy_.dp, own.dp);
  std::vector<int> group;
  Coordinate c;
  for (c.dp = dp; c.dp < dp_end; ++c.dp)
    for (c.cp = cp; c.cp < cp_end; ++c.cp)
      for (c.sp = sp; c.sp < sp_end; ++c.sp)
        for (c.tp = tp; c.tp < tp_end; ++c.tp) group.push_back(static_cast<int>(rank_at(c)));
  return group;
}

std::vector<std::vector<int>> MeshShape::groups(AxisSet set) const {
  std::vector<std::vector<int>> all;
  for (auto rank = first_rank_; rank < first_rank_ + ranks(); ++rank) {
    const auto c = coordinate_of(rank);
    // The first of a group is where its axes begin.
    const bool first = (!set.contains(Axis::tp) || c.tp == 0) && (!set.contains(Axis::sp) || c.sp == 0) &&
                       (!set.contains(Axis::cp) || c.cp == 0) && (!set.contains(Axis::dp) || c.dp == 0);
    if (first) all.push_back(group_of(rank, set));
  }
  return all;
}

}  // namespace galvatron::spec
