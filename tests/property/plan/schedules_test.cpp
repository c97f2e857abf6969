// Laws of every schedule for all small pipelines, and lanes broken on purpose: the checker must find each
// break, else its silence means nothing.
#include <gtest/gtest.h>

#include <algorithm>

#include "core/errors.hpp"
#include "plan/schedule.hpp"
#include "plan/schedules/lanes.hpp"

namespace galvatron::plan {
namespace {

std::string text_of(ScheduleKind kind, int64_t stages, int64_t micros) {
  return std::string(name_of(kind)) + ", " + std::to_string(stages) + " stages, " + std::to_string(micros) +
         " micro-batches";
}

TEST(Schedules, NeitherHangNorLoseWork) {
  for (const ScheduleRow& row : schedule_table())
    for (int64_t stages = 1; stages <= 16; ++stages)
      for (int64_t micros = 1; micros <= 64; ++micros) {
        const auto lanes = make_schedule(row.kind, stages, micros);
        ASSERT_EQ(static_cast<int64_t>(lanes.size()), stages) << text_of(row.kind, stages, micros);
        for (const Lane& lane : lanes)
          ASSERT_EQ(static_cast<int64_t>(lane.size()), 2 * micros) << text_of(row.kind, stages, micros);
        const auto fault = find_fault(lanes);
        ASSERT_FALSE(fault.has_value()) << text_of(row.kind, stages, micros) << ": " << fault.value_or("");
      }
}

TEST(Schedules, InFlightIsWhatThePapersSay) {
  for (int64_t stages = 1; stages <= 16; ++stages)
    for (int64_t micros = 1; micros <= 64; ++micros)
      for (int64_t stage = 0; stage < stages; ++stage) {
        const auto alternating = make_schedule(ScheduleKind::one_f_one_b, stages, micros);
        ASSERT_EQ(in_flight(alternating[static_cast<size_t>(stage)]), std::min(micros, stages - stage))
            << "stage " << stage << " of " << text_of(ScheduleKind::one_f_one_b, stages, micros);
        ASSERT_EQ(in_flight(make_schedule(ScheduleKind::gpipe, stages, micros)[static_cast<size_t>(stage)]),
                  micros);
      }
}

TEST(Schedules, NamesRoundTrip) {
  for (const ScheduleRow& row : schedule_table()) EXPECT_EQ(schedule_named(name_of(row.kind)), row.kind);
  try {
    schedule_named("1b1f");
    FAIL() << "an unknown schedule was accepted";
  } catch (const core::UserError& error) {
    EXPECT_STREQ(error.what(), "unknown schedule '1b1f'; there are '1f1b', 'gpipe'");
  }
}

std::string fault_of(const std::vector<Lane>& lanes) {
  return find_fault(lanes).value_or("none");
}

constexpr auto fw = ActionKind::forward;
constexpr auto bw = ActionKind::backward;

TEST(FindFault, SeesLostAndRepeatedWork) {
  EXPECT_EQ(fault_of({{{fw, 0}, {bw, 0}}}), "none");
  EXPECT_EQ(fault_of({{{fw, 0}, {bw, 0}, {fw, 1}}}), "stage 0: backward(1) is missing");
  EXPECT_EQ(fault_of({{{fw, 1}, {bw, 1}}}), "stage 0: forward(0) is missing");
  EXPECT_EQ(fault_of({{{bw, 0}, {fw, 0}}}), "stage 0: backward(0) comes before its forward");
  EXPECT_EQ(fault_of({{{fw, 0}, {fw, 0}, {bw, 0}}}), "stage 0: forward(0) comes twice");
  EXPECT_EQ(fault_of({{{fw, 0, 1}, {bw, 0}}}), "stage 0: forward(0) names chunk 1, but a stage is one chunk");
  EXPECT_EQ(fault_of({{{fw, -1}, {bw, 0}}}), "stage 0: forward(-1) has no such micro-batch");
}

TEST(FindFault, SeesLanesThatWaitForEachOther) {
  // The second stage wants both forwards before its first backward; the first one gives the second forward
  // only after that backward.
  EXPECT_EQ(fault_of({{{fw, 0}, {bw, 0}, {fw, 1}, {bw, 1}}, {{fw, 0}, {fw, 1}, {bw, 0}, {bw, 1}}}),
            "the lanes hang: stage 0 waits at backward(0), stage 1 waits at forward(1)");
}

TEST(FindFault, SeesMessagesOutOfOrder) {
  EXPECT_EQ(fault_of({{{fw, 0}, {fw, 1}, {bw, 0}, {bw, 1}}, {{fw, 1}, {fw, 0}, {bw, 0}, {bw, 1}}}),
            "stage 1 wants forward(1) next, but its neighbour sends micro-batch 0 first");
}

}  // namespace
}  // namespace galvatron::plan
