#pragma once
// Curves of collectives over sizes, per group shape, with all disjoint groups of a shape talking at the same
// time, as they do in training.

#include <cstdint>
#include <vector>

#include "comm/world.hpp"
#include "core/compute.hpp"
#include "cost/profile.hpp"
#include "device/device.hpp"
#include "measure/budget.hpp"

namespace galvatron::measure {

/// Disjoint groups of one shape. Ranks in none of them wait.
struct GroupSet {
  cost::GroupShape shape;
  std::vector<std::vector<int>> groups;
};

/// The node of every rank.
std::vector<int> nodes_of_ranks(const comm::World& world);

/// Members, nodes they are on, and the most of them on one node. `node_of[rank]`.
cost::GroupShape shape_of(const std::vector<int>& ranks, const std::vector<int>& node_of);

/// One set for each shape that a plan on these ranks can ask for: groups of `degree` ranks, `stride` apart,
/// for all degree · stride that divide the world, and the pairs of a first and a last pipeline stage. The
/// same list on every rank, by shape.
std::vector<GroupSet> group_sets(const std::vector<int>& node_of);

struct CollectiveOptions {
  std::vector<core::CollectiveKind> kinds = {
      core::CollectiveKind::all_reduce, core::CollectiveKind::all_gather,
      core::CollectiveKind::reduce_scatter, core::CollectiveKind::all_to_all};
  std::vector<int64_t> sizes;  ///< bytes of the whole tensor, ascending; empty = 1 KiB … 16 MiB, × 4
  int64_t iterations = 30;     ///< samples wanted per point
  double seconds_per_point = 0.5;
};

struct CollectiveCoverage {
  int64_t measured = 0, wanted = 0;  ///< points: (shape, kind, size)
};

/// Forms other than direct must be faster than it by this share of its time: plans do not change with noise.
constexpr double form_gain = 0.1;

/// Fills `profile.collectives` and `profile.forms`, small sizes of all shapes first. Every form that a shape
/// allows is measured, and the curve is that of the fastest at each size. Each sample is the slowest rank's
/// time of one call after a barrier of its group, in f32. Collective.
CollectiveCoverage measure_collectives(comm::World& world, device::Device& device,
                                       const std::vector<GroupSet>& sets, const CollectiveOptions& options,
                                       Budget& budget, cost::HardwareProfile& profile);

}  // namespace galvatron::measure
