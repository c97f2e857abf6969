// One forward, one backward (PipeDream-Flush; Narayanan et al., arXiv 2104.04473): after a warm-up just long
// enough to keep the later ranks busy, each rank alternates, so that no more than `ranks − rank`
// micro-batches are in flight. The eager form (Zhuang et al., arXiv 2211.05322) warms up twice as long: each
// message then has the time of one more action to arrive, and 2·(ranks − rank) − 1 micro-batches are in
// flight.
#include <algorithm>

#include "plan/schedules/lanes.hpp"

namespace galvatron::plan {
namespace {

Lane warmed_up(int64_t warm_up, int64_t micros) {
  return alternate(
      std::min(warm_up, micros), micros,
      [](int64_t i) {
        return Action{ActionKind::forward, static_cast<int32_t>(i)};
      },
      [](int64_t i) {
        return Action{ActionKind::backward, static_cast<int32_t>(i)};
      });
}

}  // namespace

Lane one_f_one_b_lane(int64_t rank, const PipelineShape& shape) {
  return warmed_up(shape.ranks - 1 - rank, shape.micros);
}

Lane eager_one_f_one_b_lane(int64_t rank, const PipelineShape& shape) {
  return warmed_up(2 * (shape.ranks - 1 - rank), shape.micros);
}

}  // namespace galvatron::plan
