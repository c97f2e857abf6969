#pragma once
// What one rank can do at best while its neighbours on the node do the same: matrix products and memory
// traffic. The yardstick for utilisation, and the test that finds a slow device.

#include <cstdint>
#include <vector>

#include "comm/world.hpp"
#include "cost/profile.hpp"
#include "device/device.hpp"
#include "kernels/kernels.hpp"
#include "measure/budget.hpp"
#include "store/profile_file.hpp"

namespace galvatron::measure {

struct PeakOptions {
  /// Rows = columns = depth; 0 = doubled from 256 until a product takes `gemm_seconds`.
  int64_t gemm_size = 0;
  double gemm_seconds = 0.003;
  /// Of the factors and of the product, the ones most asked for first.
  std::vector<core::DType> dtypes = {core::DType::f32};
  int64_t array_bytes = int64_t{16} * 1024 * 1024;  ///< of each of three arrays; beyond the caches
  int64_t iterations = 20;
  double seconds = 1.0;  ///< at most, for each precision and for the memory
};

struct PeakCoverage {
  int64_t measured = 0, wanted = 0, kept = 0;  ///< precisions, and one for the memory
};

/// Adds to `profile.gemm_peaks` (FLOP/s) and sets `profile.memory_bytes_per_second` (bytes read and written)
/// as far as they are not there. All ranks work at the same time; every rank holds the figures of all. The
/// first precision and the memory are measured however little time is left. Throws core::AgreedError when a
/// rank has no memory for the arrays. Collective.
PeakCoverage measure_peaks(comm::World& world, device::Device& device, kernels::Kernels& kernels,
                           const PeakOptions& options, Budget& budget, cost::HardwareProfile& profile,
                           store::RawTable& raw);

}  // namespace galvatron::measure
