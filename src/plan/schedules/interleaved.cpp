// Interleaved 1F1B (Narayanan et al., arXiv 2104.04473): each rank holds several stages, far apart in the
// model, so that the pipeline fills with the time of a small stage. `ranks` micro-batches pass through one
// chunk, then through the next; the warm-up is long enough for the first of them to come back.
#include <algorithm>

#include "plan/schedules/lanes.hpp"

namespace galvatron::plan {

Lane interleaved_lane(int64_t rank, const PipelineShape& shape) {
  if (shape.chunks == 1) return one_f_one_b_lane(rank, shape);
  const auto count = shape.micros * shape.chunks;
  const auto action = [&](ActionKind kind, int64_t i) {
    const auto round = i / shape.stages(), place = i % shape.stages();
    const auto chunk =
        kind == ActionKind::forward ? place / shape.ranks : shape.chunks - 1 - place / shape.ranks;
    const auto micro = round * shape.ranks + place % shape.ranks;
    return Action{kind, static_cast<int32_t>(micro), static_cast<int32_t>(chunk)};
  };
  const auto warm_up = 2 * (shape.ranks - 1 - rank) + (shape.chunks - 1) * shape.ranks;
  return alternate(
      std::min(warm_up, count), count, [&](int64_t i) { return action(ActionKind::forward, i); },
      [&](int64_t i) { return action(ActionKind::backward, i); });
}

}  // namespace galvatron::plan
