#pragma once
// The lanes that the table of schedules lists. Each is a pure function of the place in the pipeline and the
// pipeline's shape.

#include <array>
#include <string_view>

#include "plan/schedule.hpp"

namespace galvatron::plan {

Lane one_f_one_b_lane(int64_t rank, const PipelineShape& shape);
Lane gpipe_lane(int64_t rank, const PipelineShape& shape);
Lane eager_one_f_one_b_lane(int64_t rank, const PipelineShape& shape);
Lane interleaved_lane(int64_t rank, const PipelineShape& shape);

/// Forwards in the order that `forward` gives, backwards likewise (index → action, `count` of each): first
/// `warm_up` forwards, then one of each in turn, then what is left.
template <class Forward, class Backward>
Lane alternate(int64_t warm_up, int64_t count, const Forward& forward, const Backward& backward) {
  Lane lane;
  lane.reserve(static_cast<size_t>(2 * count));
  for (int64_t i = 0; i < warm_up; ++i) lane.push_back(forward(i));
  for (int64_t i = 0; i < count; ++i) {
    if (i + warm_up < count) lane.push_back(forward(i + warm_up));
    lane.push_back(backward(i));
  }
  return lane;
}

/// Whether a rank may hold several stages.
enum class Interleaves : uint8_t { no, yes };

struct ScheduleRow {
  ScheduleKind kind;
  std::string_view name;  ///< in decks and plans
  std::string_view meaning;
  Interleaves interleaves;
  Lane (*lane)(int64_t rank, const PipelineShape& shape);
};

const std::array<ScheduleRow, 4>& schedule_table();

}  // namespace galvatron::plan
