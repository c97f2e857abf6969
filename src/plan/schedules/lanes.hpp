#pragma once
// The lanes that the table of schedules lists. Each is a pure function of the stage, the number of stages and
// the number of micro-batches.

#include <array>
#include <string_view>

#include "plan/schedule.hpp"

namespace galvatron::plan {

Lane one_f_one_b_lane(int64_t stage, int64_t stages, int64_t micros);
Lane gpipe_lane(int64_t stage, int64_t stages, int64_t micros);

struct ScheduleRow {
  ScheduleKind kind;
  std::string_view name;  ///< in decks and plans
  std::string_view meaning;
  Lane (*lane)(int64_t stage, int64_t stages, int64_t micros);
};

const std::array<ScheduleRow, 2>& schedule_table();

}  // namespace galvatron::plan
