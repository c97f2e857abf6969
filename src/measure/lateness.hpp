#pragma once
// How late the last member of a group is when all compute and then meet: noise of the system, cores that
// several ranks share, and what a switch between them costs. Neither the steps nor the collectives know it,
// as they are measured one by one.

#include <cstdint>
#include <functional>
#include <vector>

#include "comm/world.hpp"
#include "cost/profile.hpp"
#include "device/device.hpp"
#include "measure/budget.hpp"
#include "measure/group_sets.hpp"
#include "store/profile_file.hpp"

namespace galvatron::measure {

struct LatenessOptions {
  std::vector<double> compute_seconds = {1e-4, 1e-3, 1e-2};  ///< between two meetings; ascending
  int64_t meeting_bytes = 4096;                              ///< of the all-reduce that they meet in
  double burst_seconds = 0.05;                               ///< of each of: computing, meeting, both
};

struct LatenessCoverage {
  int64_t measured = 0, wanted = 0, kept = 0;  ///< points: (shape, seconds of compute)
};

/// Adds to `profile.lateness` the points it does not hold, for the groups that largest_sets() names. A point
/// is what a round of computing and meeting takes beyond the two alone, mean over the groups; the system's
/// part in it grows with how many meet: Petrini, Kerbyson, Pakin, The Case of the Missing Supercomputer
/// Performance, SC 2003. `compute` is played again and again, and done when it returns. Collective.
LatenessCoverage measure_lateness(comm::World& world, device::Device& device,
                                  const std::function<void()>& compute, const std::vector<GroupSet>& sets,
                                  const LatenessOptions& options, Budget& budget,
                                  cost::HardwareProfile& profile, store::RawTable& raw);

}  // namespace galvatron::measure
