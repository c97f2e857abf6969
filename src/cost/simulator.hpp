#pragma once
// All lanes of a pipeline played against the clock: the last word on how long a step takes.

#include <cstdint>
#include <vector>

#include "plan/schedule.hpp"

namespace galvatron::cost {

/// What one stage's actions last, in seconds.
struct StageTimes {
  double forward = 0, backward = 0;  ///< per micro-batch
  double sync = 0;                   ///< after the lane, before all stages agree on the gradient norm
  double update = 0;                 ///< after that
  double send_forward = 0;           ///< an activation's way to the next stage
  double send_backward = 0;          ///< a gradient's way to the previous stage
};

/// Something that a stage does, from begin to end.
struct Interval {
  plan::Action action;
  double begin = 0, end = 0;
};

struct Simulation {
  double makespan = 0;
  std::vector<double> busy, wait;               ///< per stage; they add up to the makespan
  std::vector<std::vector<Interval>> timeline;  ///< per stage, in the order of its lane
};

/// Messages between neighbours travel in order, one at a time per direction, while the stages work; a stage
/// waits where its message has not arrived or where its last message in that direction has not left. The
/// lanes must be free of faults.
Simulation simulate(const std::vector<plan::Lane>& lanes, const std::vector<StageTimes>& times);

}  // namespace galvatron::cost
