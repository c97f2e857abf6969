// A ping carries nothing; its answer is the other rank's clock. The answer was made between both looks at our
// own clock, so half of the time between them bounds the error.

#include "runtime/clock.hpp"

#include <algorithm>
#include <limits>

#include "runtime/sections.hpp"

namespace galvatron::runtime {
namespace {

constexpr int pings = 12;
/// Readings closer than this say nothing about drift: their errors would be stretched over the run.
constexpr double shortest_line_seconds = 1.0;

/// Rank 0: what the clock of `rank` shows less what ours shows, negated, at the best of a few pings.
ClockReading ask(comm::Communicator& all, int rank) {
  ClockReading best;
  best.error = std::numeric_limits<double>::infinity();
  for (int i = 0; i < pings; ++i) {
    double theirs = 0;
    const auto asked = now();
    all.send(device::vector(&theirs, core::DType::f64, 1), rank).wait();
    all.receive(device::vector(&theirs, core::DType::f64, 1), rank).wait();
    const auto answered = now();
    const auto error = 0.5 * (answered - asked);
    if (error < best.error) best = {theirs, asked + error - theirs, error};
  }
  return best;
}

}  // namespace

ClockReading read_clock(comm::Communicator& all) {
  ClockReading mine{now(), 0.0, 0.0};
  double words[3];
  if (all.index() == 0) {
    for (int rank = 1; rank < all.size(); ++rank) {
      const auto reading = ask(all, rank);
      words[0] = reading.at, words[1] = reading.offset, words[2] = reading.error;
      all.send(device::vector(words, core::DType::f64, 3), rank).wait();
    }
    return mine;
  }
  for (int i = 0; i < pings; ++i) {
    double clock = 0;
    all.receive(device::vector(&clock, core::DType::f64, 1), 0).wait();
    clock = now();
    all.send(device::vector(&clock, core::DType::f64, 1), 0).wait();
  }
  all.receive(device::vector(words, core::DType::f64, 3), 0).wait();
  return {words[0], words[1], words[2]};
}

ClockLine::ClockLine(const ClockReading& first, const ClockReading& last)
    : at_(last.at), offset_(last.offset), error_(last.error) {
  const auto apart = last.at - first.at;
  if (apart < shortest_line_seconds) return;
  slope_ = (last.offset - first.offset) / apart;
  error_ = std::max(first.error, last.error);
}

}  // namespace galvatron::runtime
