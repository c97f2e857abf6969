#pragma once
// Seconds of every compute step that a plan may ask for, measured inside its real Program with all ranks
// busy, each on Programs of its own.

#include <cstdint>
#include <string>
#include <vector>

#include "comm/world.hpp"
#include "cost/profile.hpp"
#include "device/device.hpp"
#include "kernels/kernels.hpp"
#include "measure/budget.hpp"
#include "measure/worklist.hpp"
#include "store/profile_file.hpp"

namespace galvatron::measure {

struct LayerOptions {
  double seconds_per_program = 0.25;  ///< at most
  int64_t memory_bytes = 0;           ///< per rank; a Program that needs more is left out; 0 = try
};

struct LayerCoverage {
  int64_t points = 0, wanted_points = 0;  ///< (signature, rows)
  int64_t kept_points = 0;                ///< of `points`: the profile had them
  int64_t programs = 0, wanted_programs = 0;
  std::vector<std::string> left_out;  ///< a line for each Program without memory
};

/// Adds to `profile.steps` what it does not hold. The first Program is played on all ranks at once, however
/// little time is left: the largest of their medians counts, and `profile.rank_seconds` tells who is slow.
/// Then each rank takes every size()-th Program of the rest; what a rank measured counts for all, made longer
/// where some rank is slower than the others. All ranks bring the same candidates and get the same values.
/// Collective.
LayerCoverage measure_layers(comm::World& world, device::Device& device, kernels::Kernels& kernels,
                             const std::vector<LayerCase>& candidates, const LayerOptions& options,
                             Budget& budget, cost::ModelProfile& profile, store::RawTable& raw);

/// Adds to `profile.counters` what is counted while forward, backward and update of each kind of layer are
/// played, all ranks at once, and says in `profile.counters_missing` what is not. Kinds that have rows are
/// left alone. Collective.
void measure_counters(comm::World& world, device::Device& device, kernels::Kernels& kernels,
                      const std::vector<LayerCase>& candidates, int64_t memory_bytes, Budget& budget,
                      cost::ModelProfile& profile);

}  // namespace galvatron::measure
