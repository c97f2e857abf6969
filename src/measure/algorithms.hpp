#pragma once
// Lets a device's kernels choose an algorithm for every matrix product and every attention that plans may ask
// for, by running those that its libraries offer.

#include <cstdint>
#include <vector>

#include "comm/world.hpp"
#include "cost/profile.hpp"
#include "device/device.hpp"
#include "kernels/kernels.hpp"
#include "measure/budget.hpp"
#include "measure/worklist.hpp"

namespace galvatron::measure {

struct AlgorithmCoverage {
  int64_t measured = 0, wanted = 0;  ///< Programs
};

/// Whether these kernels choose at all.
bool has_choice(kernels::Kernels& kernels);

/// For kernels that have a choice. What the profile holds for this library and device stays; the rest is
/// chosen while the ranks play such steps of their shares of the Programs, and all get the same result: of a
/// call that several ranks met, the first one's. Collective.
AlgorithmCoverage measure_algorithms(comm::World& world, device::Device& device, kernels::Kernels& kernels,
                                     const std::vector<LayerCase>& candidates, int64_t memory_bytes,
                                     Budget& budget, cost::ModelProfile& profile);

}  // namespace galvatron::measure
