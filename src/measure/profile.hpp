#pragma once
// The whole profile phase: links, collectives, lateness, peaks, layers, interference and the memory outside
// the arena, within one budget of seconds. What an earlier start has measured is not measured again.

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "comm/world.hpp"
#include "core/log.hpp"
#include "cost/profile.hpp"
#include "device/device.hpp"
#include "kernels/kernels.hpp"
#include "measure/budget.hpp"
#include "measure/collectives.hpp"
#include "measure/fingerprints.hpp"
#include "measure/interference.hpp"
#include "measure/lateness.hpp"
#include "measure/layers.hpp"
#include "measure/links.hpp"
#include "measure/peaks.hpp"
#include "measure/request.hpp"
#include "measure/reserve.hpp"
#include "store/profile_file.hpp"

namespace galvatron::measure {

/// A profile and its samples. The profile is the same on every rank; of the samples of an earlier start only
/// rank 0 need bring any, and only rank 0 has all.
struct Measured {
  cost::Profile profile;
  store::RawTables raw;
};

struct Options {
  double budget_seconds = 60;
  LinkOptions links;
  CollectiveOptions collectives;
  PeakOptions peaks;
  InterferenceOptions interference;
  LatenessOptions lateness;
  LayerOptions layers;
  BudgetHooks hooks;  ///< `save` and `progress` are set by measure_all
  /// Given what there is after each part, and when a save is asked for; on every rank at the same time.
  std::function<void(const Measured&)> keep = [](const Measured&) {};
};

/// The same on every rank, samples apart.
struct Outcome {
  Measured measured;
  std::vector<std::string> left_out;  ///< a line for each Program without memory
  std::vector<std::string> counters;  ///< a line per part, of rank 0
  bool stopped = false;               ///< asked to stop; the profile is a fragment
};

/// Measures what `earlier` does not say about these ranks and this model. `meter` may have marks of its own
/// already, the same ones on every rank; what the process holds when this begins goes into "program". Throws
/// core::AgreedError when a link delivers wrong data. Collective.
Outcome measure_all(comm::World& world, device::Device& device, const Request& request,
                    const Options& options, Measured earlier, ReserveMeter& meter, core::Log& log);

/// The hardware report, what the budget covered, counters, and ranks whose layers are slow.
std::string outcome_report(const Outcome& outcome);

}  // namespace galvatron::measure
