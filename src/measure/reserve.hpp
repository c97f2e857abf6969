#pragma once
// Memory that a rank holds outside the arena: the program and its libraries, MPI, communicators, what math
// libraries keep. The planner knows every byte of the arena; this is the rest, measured.

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "comm/world.hpp"
#include "cost/profile.hpp"
#include "device/device.hpp"
#include "measure/worklist.hpp"

namespace galvatron::measure {

/// Resident bytes of this process (Linux: /proc/self/statm); 0 where the system does not say.
int64_t resident_bytes();

/// The most that was resident since the last `forget_peak_resident`, or ever; 0 where the system does not
/// say.
int64_t peak_resident_bytes();
/// Starts a new peak (Linux: /proc/self/clear_refs); where that is not allowed the old one stays.
void forget_peak_resident();

/// Itemises growth: each mark names what has come since the last one.
class ReserveMeter {
 public:
  /// `resident` is a parameter for tests.
  explicit ReserveMeter(std::function<int64_t()> resident = resident_bytes);

  /// Adds the growth since the last mark (never negative) to `part`. The first mark takes all there is.
  void mark(const std::string& part);
  /// Adds what was measured apart.
  void add(const std::string& part, int64_t bytes) { parts_[part] += bytes; }
  /// Forgets growth since the last mark: buffers that the caller itself holds at this moment.
  void skip();
  /// Takes off the last marks what was given back since: the sum is what is resident now, but for buffers
  /// that were skipped.
  void settle();

  const std::map<std::string, int64_t>& parts() const { return parts_; }
  int64_t total() const;

 private:
  std::function<int64_t()> resident_;
  int64_t last_ = 0;
  int64_t skipped_ = 0;
  std::map<std::string, int64_t> parts_;
  std::vector<std::string> order_;  ///< of the marks
};

/// Sets the parts of `profile.reserve_parts` and their sum to those of the fullest rank, and keeps the larger
/// of what an earlier start saw: one that had less to measure held less. All ranks have the same parts.
/// Collective.
void store_reserve(comm::World& world, ReserveMeter& meter, cost::HardwareProfile& profile);

/// Sets `profile.reserve_units`: the growth of this process, largest of the ranks, for a group of ranks
/// that does collectives, for each member of one that talks through shared memory, and for a thread that
/// talks. Collective.
void measure_reserve_units(comm::World& world, device::Device& device, cost::HardwareProfile& profile);

/// The growth of this process by kernels that have prepared for one case of each layer: a plan's.
int64_t measure_plan_kernels(device::Device& device, int32_t threads, const std::vector<LayerCase>& layers);

}  // namespace galvatron::measure
