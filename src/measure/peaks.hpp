#pragma once
// What one rank can do at best while its neighbours on the node do the same: matrix products and memory
// traffic. The yardstick for utilisation, and the test that finds a slow device.

#include <cstdint>
#include <vector>

#include "comm/world.hpp"
#include "device/device.hpp"
#include "kernels/kernels.hpp"
#include "measure/budget.hpp"

namespace galvatron::measure {

struct PeakOptions {
  int64_t gemm_size = 1024;                         ///< rows = columns = depth
  core::DType dtype = core::DType::f32;             ///< of the factors and of the product
  int64_t array_bytes = int64_t{32} * 1024 * 1024;  ///< of each of three arrays; beyond the caches
  int64_t iterations = 20;
  double seconds = 1.0;  ///< at most, for each of the two
};

/// Per rank, on every rank.
struct Peaks {
  std::vector<double> gemm_flops;               ///< FLOP/s
  std::vector<double> memory_bytes_per_second;  ///< bytes read and written
};

/// Collective; all ranks work at the same time. Throws core::AgreedError when a rank has no memory for the
/// arrays.
Peaks measure_peaks(comm::World& world, device::Device& device, kernels::Kernels& kernels,
                    const PeakOptions& options, Budget& budget);

}  // namespace galvatron::measure
