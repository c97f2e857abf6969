// The list of schedules: adding one is one file beside this and one line here.
#include "plan/schedules/lanes.hpp"

namespace galvatron::plan {

const std::array<ScheduleRow, 4>& schedule_table() {
  static constexpr std::array<ScheduleRow, 4> rows = {{
      {ScheduleKind::one_f_one_b, "1f1b", "alternate forward and backward after a warm-up", Interleaves::no,
       one_f_one_b_lane},
      {ScheduleKind::gpipe, "gpipe", "all forwards, then all backwards", Interleaves::no, gpipe_lane},
      {ScheduleKind::eager_one_f_one_b, "eager-1f1b",
       "1f1b with twice the warm-up: messages have an action's time to arrive, more is in flight",
       Interleaves::no, eager_one_f_one_b_lane},
      {ScheduleKind::interleaved, "interleaved",
       "1f1b over several stages per rank: a smaller bubble, more messages", Interleaves::yes,
       interleaved_lane},
  }};
  return rows;
}

}  // namespace galvatron::plan
