// Makespans computed by hand.
#include "cost/simulator.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace galvatron::cost {
namespace {

using plan::make_schedule;
using plan::ScheduleKind;

Simulation played(ScheduleKind kind, int64_t micros, const std::vector<StageTimes>& times) {
  return simulate(make_schedule(kind, {static_cast<int64_t>(times.size()), micros}), times);
}

TEST(Simulator, OneStageIsASum) {
  const auto result =
      played(ScheduleKind::one_f_one_b, 3, {{.forward = 1, .backward = 2, .sync = 4, .update = 5}});
  EXPECT_DOUBLE_EQ(result.makespan, 3 * 3 + 9);
  EXPECT_DOUBLE_EQ(result.wait[0], 0);
}

TEST(Simulator, EqualStagesHaveTheTextbookBubble) {
  const std::vector<StageTimes> times(4, {.forward = 1, .backward = 2});
  for (int64_t micros : {1, 2, 3, 4, 8, 20})
    for (const auto kind : {ScheduleKind::one_f_one_b, ScheduleKind::gpipe})
      EXPECT_DOUBLE_EQ(played(kind, micros, times).makespan, 3.0 * static_cast<double>(micros + 3)) << micros;
}

TEST(Simulator, TransfersDelayTheNeighbour) {
  // One micro-batch: there and back again, 2 × (1 + 3) of work and 0.5 + 0.25 on the way.
  const std::vector<StageTimes> times = {{.forward = 1, .backward = 3, .send_forward = 0.5},
                                         {.forward = 1, .backward = 3, .send_backward = 0.25}};
  const auto result = played(ScheduleKind::one_f_one_b, 1, times);
  EXPECT_DOUBLE_EQ(result.makespan, 8.75);
  EXPECT_DOUBLE_EQ(result.timeline[1][0].begin, 1.5);
  EXPECT_DOUBLE_EQ(result.timeline[0][1].begin, 5.75);
  EXPECT_DOUBLE_EQ(result.busy[0], 4);
  EXPECT_DOUBLE_EQ(result.wait[0], 4.75);
}

TEST(Simulator, MessagesOfOneDirectionQueueUp) {
  // Two micro-batches, the message takes longer than the work: it is the bottleneck, and the sender cannot
  // start its third message before the second has left.
  const std::vector<StageTimes> times = {{.forward = 1, .backward = 1, .send_forward = 10},
                                         {.forward = 1, .backward = 1}};
  const auto result = played(ScheduleKind::gpipe, 3, times);
  EXPECT_DOUBLE_EQ(result.timeline[1][0].begin, 11);
  EXPECT_DOUBLE_EQ(result.timeline[1][1].begin, 21);
  EXPECT_DOUBLE_EQ(result.timeline[1][2].begin, 31);
  EXPECT_DOUBLE_EQ(result.timeline[0][2].begin, 11) << "its second message leaves when the first has arrived";
}

TEST(Simulator, AllStagesMeetBeforeTheUpdate) {
  const std::vector<StageTimes> times = {{.forward = 1, .backward = 1, .sync = 5, .update = 1},
                                         {.forward = 1, .backward = 1, .sync = 1, .update = 3}};
  // Lanes end at 4 and 3; the first stage is ready to agree at 9.
  EXPECT_DOUBLE_EQ(played(ScheduleKind::one_f_one_b, 1, times).makespan, 12);
}

TEST(Simulator, NeverBeatsTheBusiestStageNorLosesTime) {
  for (int64_t stages = 1; stages <= 5; ++stages)
    for (int64_t micros = 1; micros <= 9; ++micros) {
      std::vector<StageTimes> times;
      for (int64_t s = 0; s < stages; ++s)
        times.push_back({.forward = 1.0 + static_cast<double>(s % 3),
                         .backward = 2.0 + static_cast<double>((s * 7) % 4),
                         .sync = 0.5,
                         .send_forward = 0.1,
                         .send_backward = 0.2});
      const auto result = played(ScheduleKind::one_f_one_b, micros, times);
      EXPECT_GE(result.makespan, *std::max_element(result.busy.begin(), result.busy.end()));
      for (const double wait : result.wait) EXPECT_GE(wait, 0);
    }
}

}  // namespace
}  // namespace galvatron::cost
