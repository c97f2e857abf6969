#pragma once
// The whole profile phase: links, collectives, peaks, layers and the memory outside the arena, within one
// budget of seconds.

#include <cstdint>
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
#include "measure/layers.hpp"
#include "measure/links.hpp"
#include "measure/peaks.hpp"
#include "measure/reserve.hpp"
#include "store/profile_file.hpp"

namespace galvatron::measure {

/// What is to be measured, and for whom.
struct Request {
  int32_t threads = 1;  ///< per rank, of the kernels
  std::string build;    ///< version, compiler and options of this program
  std::string model_fingerprint;
  core::DType dtype = core::DType::f32;
  std::vector<LayerCase> layers;                  ///< what plans may ask for
  std::map<std::string, std::string> conditions;  ///< of the caller: date, library versions, binding …
};

struct Options {
  double budget_seconds = 60;
  LinkOptions links;
  CollectiveOptions collectives;
  PeakOptions peaks;
  LayerOptions layers;
  BudgetHooks hooks;
};

/// The same on every rank, but for `raw`.
struct Outcome {
  cost::Profile profile;
  LinkMap links;
  LayerCoverage layers;
  std::vector<Coverage> coverage;
  std::vector<std::string> counters;  ///< a line per phase, of rank 0
  store::RawTables raw;               ///< every sample; on rank 0 only
  bool stopped = false;               ///< asked to stop; the profile is a fragment
};

/// `meter` may have marks of its own already, the same ones on every rank; what the process holds when this
/// begins goes into "program". Throws core::AgreedError when a link delivers wrong data. Collective.
Outcome measure_all(comm::World& world, device::Device& device, kernels::Kernels& kernels,
                    const Request& request, const Options& options, ReserveMeter& meter, core::Log& log);

/// What a profile depends on, and nothing that changes between two runs of the same job. Not collective.
std::string fingerprint_of(const comm::World& world, const device::Device& device, const Request& request);

/// The hardware report, what the budget covered, counters, and ranks whose layers are slow.
std::string outcome_report(const Outcome& outcome);

}  // namespace galvatron::measure
