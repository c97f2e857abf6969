#pragma once
// Memory that a rank holds outside the arena: the program and its libraries, MPI, communicators, what math
// libraries keep. The planner knows every byte of the arena; this is the rest, measured.

#include <cstdint>
#include <functional>
#include <map>
#include <string>

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
  /// Forgets growth since the last mark: buffers that the caller itself holds at this moment.
  void skip();

  const std::map<std::string, int64_t>& parts() const { return parts_; }
  int64_t total() const;

 private:
  std::function<int64_t()> resident_;
  int64_t last_ = 0;
  std::map<std::string, int64_t> parts_;
};

}  // namespace galvatron::measure
