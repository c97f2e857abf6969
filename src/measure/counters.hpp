#pragma once
// What the processor and the system counted while something ran: hardware events where the machine offers
// them, else what the system keeps for every process. A machine without counters is normal (virtual machines
// are), so the reason is a text in the report and never an error.

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace galvatron::measure {

struct Reading {
  std::string name;  ///< e.g. "cycles", "user seconds"
  double value = 0;
};

/// Of this rank's process. Not thread-safe.
class Counters {
 public:
  virtual ~Counters() = default;
  virtual void start() = 0;
  /// Since `start`, in a fixed order.
  virtual std::vector<Reading> stop() = 0;
  /// Which events are missing and why; empty when all are there.
  virtual std::string missing() const = 0;
};

/// The best that this build and this machine have.
std::unique_ptr<Counters> make_counters();

/// getrusage: user and system seconds, page faults, context switches. `reason` is what `missing` says.
std::unique_ptr<Counters> make_software_counters(std::string reason);

/// "links: user 1.2 s, …" for one phase.
std::string reading_text(const std::string& phase, const std::vector<Reading>& readings);

}  // namespace galvatron::measure
