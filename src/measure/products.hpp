#pragma once
// Lets a device's kernels choose an algorithm for every matrix product that plans may ask for, by running
// those that its library offers.

#include <cstdint>
#include <vector>

#include "comm/world.hpp"
#include "cost/profile.hpp"
#include "device/device.hpp"
#include "kernels/kernels.hpp"
#include "measure/budget.hpp"
#include "measure/worklist.hpp"

namespace galvatron::measure {

struct ProductCoverage {
  int64_t measured = 0, wanted = 0;  ///< Programs
};

/// For kernels that have a choice. What `profile.products` holds for this library and device stays; the rest
/// is chosen while the ranks play the products of their shares of the Programs, and all get the same result:
/// of a product that several ranks met, the first one's. Collective.
ProductCoverage measure_products(comm::World& world, device::Device& device, kernels::Kernels& kernels,
                                 const std::vector<LayerCase>& candidates, int64_t memory_bytes,
                                 Budget& budget, cost::ModelProfile& profile);

}  // namespace galvatron::measure
