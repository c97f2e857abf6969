#pragma once
// What a matrix product and a collective cost each other when a rank does both at once, the way training
// does: the collective on a thread of its own.

#include <cstdint>
#include <vector>

#include "comm/world.hpp"
#include "cost/profile.hpp"
#include "device/device.hpp"
#include "kernels/kernels.hpp"
#include "measure/collectives.hpp"

namespace galvatron::measure {

struct InterferenceOptions {
  std::vector<core::CollectiveKind> kinds = CollectiveOptions{}.kinds;
  std::vector<int64_t> sizes = {64 * 1024, 1024 * 1024, 8 * 1024 * 1024};  ///< size classes, bytes, ascending
  int64_t gemm_size = 192;  ///< rows = columns = depth; one product is to be short beside a burst
  core::DType dtype = core::DType::f32;
  double burst_seconds = 0.06;  ///< of each of: product alone, collective alone, both
};

struct InterferenceCoverage {
  int64_t measured = 0, wanted = 0, kept = 0;  ///< rows: (shape, kind, size)
};

/// Adds to `profile.interference` the rows it does not hold: for the largest group inside a node and the
/// largest of all, in the forms that `profile.forms` says are fastest. Factors are quotients of sums over
/// bursts, so that a core which computation and talk share counts; the product's is the mean over the ranks,
/// the collective's the largest. Collective.
InterferenceCoverage measure_interference(comm::World& world, device::Device& device,
                                          kernels::Kernels& kernels, const std::vector<GroupSet>& sets,
                                          const InterferenceOptions& options, Budget& budget,
                                          cost::HardwareProfile& profile, store::RawTable& raw);

}  // namespace galvatron::measure
