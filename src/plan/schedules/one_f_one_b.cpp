// One forward, one backward (PipeDream-Flush; Narayanan et al., arXiv 2104.04473): after a warm-up just long
// enough to keep the later stages busy, each stage alternates, so that no more than `stages − stage`
// micro-batches are in flight.
#include <algorithm>

#include "plan/schedules/lanes.hpp"

namespace galvatron::plan {

Lane one_f_one_b_lane(int64_t stage, int64_t stages, int64_t micros) {
  const int64_t warm_up = std::min(stages - 1 - stage, micros);
  Lane lane;
  lane.reserve(static_cast<size_t>(2 * micros));
  for (int64_t micro = 0; micro < warm_up; ++micro)
    lane.push_back({ActionKind::forward, static_cast<int32_t>(micro)});
  for (int64_t micro = 0; micro < micros; ++micro) {
    if (micro + warm_up < micros)
      lane.push_back({ActionKind::forward, static_cast<int32_t>(micro + warm_up)});
    lane.push_back({ActionKind::backward, static_cast<int32_t>(micro)});
  }
  return lane;
}

}  // namespace galvatron::plan
