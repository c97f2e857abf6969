// All forwards, then all backwards (Huang et al., arXiv 1811.06965): the simplest pipeline, at the price of
// keeping every micro-batch in flight. Backwards run in the order of the forwards.
#include "plan/schedules/lanes.hpp"

namespace galvatron::plan {

Lane gpipe_lane(int64_t, const PipelineShape& shape) {
  Lane lane;
  lane.reserve(static_cast<size_t>(2 * shape.micros));
  for (ActionKind kind : {ActionKind::forward, ActionKind::backward})
    for (int64_t micro = 0; micro < shape.micros; ++micro)
      lane.push_back({kind, static_cast<int32_t>(micro)});
  return lane;
}

}  // namespace galvatron::plan
