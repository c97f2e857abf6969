// The list of schedules: adding one is one file beside this and one line here.
#include "plan/schedules/lanes.hpp"

namespace galvatron::plan {

const std::array<ScheduleRow, 2>& schedule_table() {
  static constexpr std::array<ScheduleRow, 2> rows = {{
      {ScheduleKind::one_f_one_b, "1f1b", "alternate forward and backward after a warm-up", one_f_one_b_lane},
      {ScheduleKind::gpipe, "gpipe", "all forwards, then all backwards", gpipe_lane},
  }};
  return rows;
}

}  // namespace galvatron::plan
