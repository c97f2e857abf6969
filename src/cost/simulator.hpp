#pragma once
// All lanes of a pipeline played against the clock: the last word on how long a step takes.

#include <cstdint>
#include <vector>

#include "plan/schedule.hpp"

namespace galvatron::cost {

/// What one stage's actions last, in seconds.
struct StageTimes {
  double forward = 0, backward = 0;  ///< per micro-batch
  double sync = 0;                   ///< after the lane, before all ranks agree on the gradient norm
  double update = 0;                 ///< after that
  double send_forward = 0;           ///< an activation's way to the next stage
  double send_backward = 0;          ///< a gradient's way to the previous stage
};

/// Something that a pipeline rank does, from begin to end.
struct Interval {
  plan::Action action;
  double begin = 0, end = 0;
};

/// Whether the timeline is written down: it is as long as all lanes together.
enum class Keep : uint8_t { timeline, totals };

struct Simulation {
  double makespan = 0;
  std::vector<double> busy, wait;               ///< per pipeline rank; they add up to the makespan
  std::vector<std::vector<Interval>> timeline;  ///< per pipeline rank, in the order of its lane; if kept
};

/// `times` of the stages in the order of the model: stage k is on rank k mod lanes. Messages of one channel
/// travel in order, one at a time, while the ranks work; a rank waits where its message has not arrived or
/// where its last message on that channel has not left. The lanes must be free of faults.
Simulation simulate(const std::vector<plan::Lane>& lanes, const std::vector<StageTimes>& times,
                    Keep keep = Keep::timeline);

/// No longer than lanes of these stages take, with so many micro-batches in flight per stage. With one stage
/// on each rank: a rank waits for the forwards before its own, or has all forwards and the later backwards
/// before its first backward; its last backward is followed by those before it.
double least_makespan(const std::vector<StageTimes>& times, const std::vector<int64_t>& slots,
                      const plan::PipelineShape& shape);

}  // namespace galvatron::cost
