// Rank arithmetic of a stage: coordinates in mixed radix, tp fastest.

#include "spec/mesh.hpp"

#include <algorithm>

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

std::vector<int> MeshShape::group_of(int64_t rank, AxisSet set) const {
  const auto own = coordinate_of(rank);
  std::vector<int> group;
  for (auto other = first_rank_; other < first_rank_ + ranks(); ++other) {
    const auto c = coordinate_of(other);
    const bool member =
        (set.contains(Axis::tp) || c.tp == own.tp) && (set.contains(Axis::sp) || c.sp == own.sp) &&
        (set.contains(Axis::cp) || c.cp == own.cp) && (set.contains(Axis::dp) || c.dp == own.dp);
    if (member) group.push_back(static_cast<int>(other));
  }
  return group;
}

std::vector<std::vector<int>> MeshShape::groups(AxisSet set) const {
  std::vector<std::vector<int>> all;
  for (auto rank = first_rank_; rank < first_rank_ + ranks(); ++rank) {
    auto group = group_of(rank, set);
    if (group.front() == rank) all.push_back(std::move(group));
  }
  return all;
}

}  // namespace galvatron::spec
