#pragma once
// What training cost beside time: energy of the nodes, and what the processors counted. Both are said with
// the reason where a machine does not tell.

#include <memory>
#include <optional>
#include <string>

#include "app/job.hpp"
#include "measure/counters.hpp"
#include "measure/energy.hpp"

namespace galvatron::app {

/// Counts from its making on. Collective.
class CostMeter {
 public:
  explicit CostMeter(Job& job);

  /// Collective: says what was counted, for so many tokens, and notes it; sets energy_j and device_energy_j
  /// of the RESULT line.
  void report(double tokens);

 private:
  double device_joules() const;
  void report_energy(double tokens);
  void report_device_energy(double tokens);
  void report_counters();

  Job& job_;
  double device_joules_ = 0;  ///< of this rank's device when this began; 0 where it does not tell
  std::optional<measure::EnergyMeter> energy_;  ///< of one rank per node
  std::unique_ptr<measure::Counters> counters_;
};

}  // namespace galvatron::app
