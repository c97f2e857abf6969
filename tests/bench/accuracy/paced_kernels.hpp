#pragma once
// Kernels that take a set time and compute nothing: the rehearsal's checks, then a sleep. Ranks that sleep do
// not fight for cores, so schedules, overlap and messages of many ranks can be timed on few.

#include <memory>

#include "kernels/kernels.hpp"

namespace galvatron::bench {

/// Products last `seconds_per_flop`, at least `least_seconds`, attention `least_seconds`; everything else is
/// free.
struct Pace {
  double seconds_per_flop = 0;
  double least_seconds = 0.005;
};

/// On host memory, which stays as it is.
std::unique_ptr<kernels::Kernels> make_paced_kernels(const Pace& pace);

}  // namespace galvatron::bench
