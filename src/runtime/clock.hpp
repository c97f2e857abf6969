#pragma once
// Every node has a clock of its own, with a zero of its own. To lay the traces of many ranks over each other,
// each rank learns how far its clock is from rank 0's.

#include "comm/communicator.hpp"

namespace galvatron::runtime {

/// At `at` on this rank's clock rank 0's clock showed at + offset, give or take `error`: half of the shortest
/// round trip. Seconds.
struct ClockReading {
  double at = 0, offset = 0, error = 0;
};

/// Collective over `all`, a group of every rank in order on CPU ranks: rank 0 pings the others one after the
/// other, and the shortest of a few round trips counts (as in Cristian, "Probabilistic clock
/// synchronization", 1989).
ClockReading read_clock(comm::Communicator& all);

/// This rank's seconds → rank 0's seconds: the line through two readings, since clocks also drift.
class ClockLine {
 public:
  ClockLine(const ClockReading& first, const ClockReading& last);
  double operator()(double seconds) const { return seconds + offset_ + slope_ * (seconds - at_); }
  double error() const { return error_; }

 private:
  double at_, offset_, slope_ = 0, error_;
};

}  // namespace galvatron::runtime
