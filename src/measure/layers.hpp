#pragma once
// Seconds of every compute step that a plan may ask for, measured inside its real Program with all ranks busy
// on the same shape.

#include <cstdint>
#include <string>
#include <vector>

#include "comm/world.hpp"
#include "cost/profile.hpp"
#include "device/device.hpp"
#include "kernels/kernels.hpp"
#include "measure/budget.hpp"
#include "measure/worklist.hpp"

namespace galvatron::measure {

struct LayerOptions {
  int64_t iterations = 15;   ///< plays of a Program wanted, after one that warms up
  int64_t memory_bytes = 0;  ///< per rank; a Program that needs more is left out; 0 = try
};

struct LayerCoverage {
  int64_t points = 0, wanted_points = 0;  ///< (signature, rows)
  int64_t programs = 0, wanted_programs = 0;
  std::vector<std::string> left_out;  ///< a line for each Program without memory
  /// Per rank: Σ over points of its medians, for finding slow devices.
  std::vector<double> rank_seconds;
};

/// Fills `profile.steps`. The value of a point is the largest of the ranks' medians: the slowest one decides
/// how long a step takes. All ranks bring the same candidates. Collective.
LayerCoverage measure_layers(comm::World& world, device::Device& device, kernels::Kernels& kernels,
                             const std::vector<LayerCase>& candidates, const LayerOptions& options,
                             Budget& budget, cost::ModelProfile& profile);

}  // namespace galvatron::measure
