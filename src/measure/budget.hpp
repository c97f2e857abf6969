#pragma once
// The time that profiling may take, shared out among its phases. Every decision rides on a reduction, so all
// ranks stop at the same place; what a phase leaves over goes to the ones behind it.

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "comm/world.hpp"
#include "cost/profile.hpp"

namespace galvatron::measure {

/// Seconds on a steady clock.
double now_seconds();

/// The smallest step of that clock that this process sees, in seconds.
double timer_resolution();

struct BudgetHooks {
  std::function<double()> clock = now_seconds;
  /// True when this rank was asked to stop (a signal); one rank suffices.
  std::function<bool()> stop_requested = [] { return false; };
  /// Told what goes on each time the budget is looked at; for the watchdog.
  std::function<void(const std::string&)> alive = [](const std::string&) {};
  /// True when this rank was asked to save what there is; one rank suffices. Asked once per look.
  std::function<bool()> save_requested = [] { return false; };
  /// Saves what there is: called on every rank at the same look. May be collective.
  std::function<void()> save = [] {};
  /// Told how far the phase is and how long it may still take, on every rank, every `progress_seconds`.
  std::function<void(const std::string&)> progress = [](const std::string&) {};
  double progress_seconds = 5;
};

using cost::Coverage;

/// All members except `note`, `coverage`, `stopped` and `total_seconds` are collective.
class Budget {
 public:
  Budget(comm::World& world, double seconds, BudgetHooks hooks = {});

  /// Starts a phase with `share` (0 … 1) of what is left by now.
  void begin(std::string phase, double share);
  /// Seconds left to the phase, the same number on every rank; never above 0 once a stop was requested.
  double left();
  bool spent() { return left() <= 0; }
  /// How far the phase is, for the progress line; the same on every rank.
  void note(int64_t done, int64_t wanted, const std::string& unit);
  /// Ends the phase and notes what it covered. `kept` of `done` were known before it began.
  void end(int64_t done, int64_t wanted, std::string unit, int64_t kept = 0);

  const std::vector<Coverage>& coverage() const { return coverage_; }
  bool stopped() const { return stopped_; }
  double total_seconds() const { return seconds_; }

 private:
  double elapsed();
  void tell_progress(double elapsed);

  comm::World& world_;
  double seconds_;
  BudgetHooks hooks_;
  double started_ = 0;
  double phase_started_ = 0;  ///< seconds since `started_`
  double allotted_ = 0;
  double told_ = 0;  ///< seconds since `started_` of the last progress line
  std::string phase_, noted_;
  bool stopped_ = false;
  std::vector<Coverage> coverage_;
};

/// "12 of 12 pairs, 6 of them kept".
std::string coverage_line(const Coverage& coverage);
/// "links       5.0 s of 12.0 s   12 of 12 pairs" per phase, one a line.
std::string coverage_text(const std::vector<Coverage>& coverage);

}  // namespace galvatron::measure
