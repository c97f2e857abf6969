#pragma once
// The end of a job in which one rank failed while the others are inside a communication: they cannot be told,
// so the failing rank says what happened and ends the job for all.

#include <filesystem>
#include <functional>
#include <string>

#include "comm/report_file.hpp"
#include "comm/world.hpp"
#include "core/errors.hpp"

namespace galvatron::comm {

/// Name of the report in the run folder, shared with the watchdog so that only one rank speaks, whatever went
/// wrong.
constexpr const char* failure_file = "failure.txt";

class FailureReport {
 public:
  using Print = std::function<void(const std::string&)>;

  /// `print` is called on one rank, and with text for people. A report of an earlier run has been moved
  /// aside. The world outlives it.
  FailureReport(World& world, const std::filesystem::path& run_folder, Print print);

  /// Not collective. The first rank to come prints its message, waits half a second for the lines of other
  /// failing ranks, prints those too and aborts the job with `code`; later ones add their line and wait for
  /// that.
  [[noreturn]] void end_job(core::ExitCode code, const std::string& message) const;

 private:
  World& world_;
  ReportFile report_;
  Print print_;
};

}  // namespace galvatron::comm
