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
#include "measure/group_sets.hpp"
#include "store/profile_file.hpp"

namespace galvatron::measure {

struct CollectiveOptions {
  /// Those that programs are made of. A broadcast is none of them, and what an exchange moves differs from
  /// one to the next, so that messages price it.
  std::vector<core::CollectiveKind> kinds = {
      core::CollectiveKind::all_reduce, core::CollectiveKind::all_gather,
      core::CollectiveKind::reduce_scatter, core::CollectiveKind::all_to_all, core::CollectiveKind::shift};
  std::vector<int64_t> sizes;  ///< bytes of the whole tensor, ascending; empty = 1 KiB … 16 MiB, × 4
  int64_t iterations = 30;     ///< samples wanted per point
  double seconds_per_point = 0.5;
};

struct CollectiveCoverage {
  int64_t measured = 0, wanted = 0;  ///< points: (shape, kind, size)
  int64_t kept = 0;                  ///< of `measured`: the profile had them
};

/// Forms other than direct must be faster than it by this share of its time: plans do not change with noise.
constexpr double form_gain = 0.1;

/// Adds to `profile.collectives` and `profile.forms` what they do not hold yet, small sizes of all shapes
/// first. Every form that a shape allows is measured, and the curve is that of the fastest at each size. Each
/// sample is the slowest rank's time of one call after a barrier of its group, in f32; the size of a shift is
/// that of the block which a member passes on. Samples of every form go to `raw`. Collective.
CollectiveCoverage measure_collectives(comm::World& world, device::Device& device,
                                       const std::vector<GroupSet>& sets, const CollectiveOptions& options,
                                       Budget& budget, cost::HardwareProfile& profile, store::RawTable& raw);

}  // namespace galvatron::measure
