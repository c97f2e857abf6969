// Laws of every schedule for all small pipelines, and lanes broken on purpose: the checker must find each
// break, else its silence means nothing.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

#include "core/errors.hpp"
#include "plan/schedule.hpp"
#include "plan/schedules/lanes.hpp"

namespace galvatron::plan {
namespace {

constexpr int64_t most_ranks = 16, most_micros = 64, most_chunks = 4;

std::string text_of(ScheduleKind kind, const PipelineShape& shape) {
  return std::string(name_of(kind)) + ", " + std::to_string(shape.ranks) + " ranks × " +
         std::to_string(shape.chunks) + " stages, " + std::to_string(shape.micros) + " micro-batches";
}

void for_all_shapes(const std::function<void(const ScheduleRow&, const PipelineShape&)>& check) {
  for (const ScheduleRow& row : schedule_table())
    for (int64_t ranks = 1; ranks <= most_ranks; ++ranks)
      for (int64_t micros = 1; micros <= most_micros; ++micros)
        for (int64_t chunks = 1; chunks <= most_chunks; ++chunks)
          if (!illegal_reason(row.kind, {ranks, micros, chunks})) check(row, {ranks, micros, chunks});
}

TEST(Schedules, NeitherHangNorLoseWork) {
  int64_t checked = 0;
  for_all_shapes([&](const ScheduleRow& row, const PipelineShape& shape) {
    const auto lanes = make_schedule(row.kind, shape);
    ASSERT_EQ(static_cast<int64_t>(lanes.size()), shape.ranks) << text_of(row.kind, shape);
    for (const Lane& lane : lanes)
      ASSERT_EQ(static_cast<int64_t>(lane.size()), 2 * shape.micros * shape.chunks)
          << text_of(row.kind, shape);
    const auto fault = find_fault(lanes, shape.chunks);
    ASSERT_FALSE(fault.has_value()) << text_of(row.kind, shape) << ": " << fault.value_or("");
    ++checked;
  });
  // Three schedules of one stage per rank, and the interleaved one where m is a multiple of P.
  EXPECT_GT(checked, 3 * most_ranks * most_micros + 3 * most_micros);
}

TEST(Schedules, EvaluationDoesNotHangFor) {
  for (int64_t ranks = 1; ranks <= most_ranks; ++ranks)
    for (int64_t micros = 1; micros <= most_micros; ++micros)
      for (int64_t chunks = 1; chunks <= (ranks > 1 ? most_chunks : 1); ++chunks) {
        const PipelineShape shape{ranks, micros, chunks};
        const auto lane = evaluation_lane(shape);
        ASSERT_EQ(static_cast<int64_t>(lane.size()), micros * chunks);
        const auto hang = find_hang(std::vector<Lane>(static_cast<size_t>(ranks), lane), chunks);
        ASSERT_FALSE(hang.has_value()) << text_of(ScheduleKind::interleaved, shape) << ": " << *hang;
      }
}

/// A second count, written down differently: the balance of a chunk after every action.
int64_t largest_balance(const Lane& lane, const std::function<bool(const Action&)>& counts) {
  std::vector<int64_t> balance = {0};
  for (const Action& action : lane)
    if (counts(action)) balance.push_back(balance.back() + (action.kind == ActionKind::forward ? 1 : -1));
  return *std::max_element(balance.begin(), balance.end());
}

TEST(Schedules, InFlightIsWhatThePapersSay) {
  for_all_shapes([](const ScheduleRow& row, const PipelineShape& shape) {
    const auto lanes = make_schedule(row.kind, shape);
    for (int64_t rank = 0; rank < shape.ranks; ++rank) {
      const auto& lane = lanes[static_cast<size_t>(rank)];
      const auto behind = shape.ranks - 1 - rank;
      const auto all = largest_balance(lane, [](const Action&) { return true; });
      int64_t sum = 0;
      for (int32_t chunk = 0; chunk < shape.chunks; ++chunk) {
        const auto here = in_flight(lane, chunk);
        ASSERT_EQ(here, largest_balance(lane, [&](const Action& a) { return a.chunk == chunk; }));
        ASSERT_LE(here, shape.micros);
        sum += here;
      }
      ASSERT_GE(sum, all);
      if (row.kind == ScheduleKind::gpipe) {
        ASSERT_EQ(all, shape.micros);
      } else if (row.kind == ScheduleKind::eager_one_f_one_b) {
        ASSERT_EQ(all, std::min(shape.micros, 2 * behind + 1)) << text_of(row.kind, shape);
      } else if (shape.chunks == 1) {
        ASSERT_EQ(all, std::min(shape.micros, behind + 1)) << text_of(row.kind, shape);
      } else {
        ASSERT_EQ(all,
                  std::min(shape.micros * shape.chunks, 2 * behind + (shape.chunks - 1) * shape.ranks + 1))
            << "rank " << rank << " of " << text_of(row.kind, shape);
      }
    }
  });
}

/// Slots take turns: with k in flight, micro-batch i uses slot i mod k of its chunk. So those in flight must
/// be consecutive.
TEST(Schedules, MicroBatchesInFlightAreConsecutive) {
  for_all_shapes([](const ScheduleRow& row, const PipelineShape& shape) {
    for (const Lane& lane : make_schedule(row.kind, shape)) {
      std::vector<int32_t> forwards(static_cast<size_t>(shape.chunks)), backwards(forwards);
      for (const Action& action : lane) {
        auto& next =
            (action.kind == ActionKind::forward ? forwards : backwards)[static_cast<size_t>(action.chunk)];
        ASSERT_EQ(action.micro, next) << text_of(row.kind, shape);
        ++next;
      }
    }
  });
}

TEST(Schedules, NamesRoundTrip) {
  for (const ScheduleRow& row : schedule_table()) EXPECT_EQ(schedule_named(name_of(row.kind)), row.kind);
  try {
    schedule_named("1b1f");
    FAIL() << "an unknown schedule was accepted";
  } catch (const core::UserError& error) {
    EXPECT_STREQ(error.what(),
                 "unknown schedule '1b1f'; there are '1f1b', 'gpipe', 'eager-1f1b', 'interleaved'");
  }
}

TEST(Schedules, IllegalShapesAreExplained) {
  const auto reason = [](ScheduleKind kind, const PipelineShape& shape) {
    return illegal_reason(kind, shape).value_or("none");
  };
  EXPECT_EQ(reason(ScheduleKind::interleaved, {4, 8, 2}), "none");
  EXPECT_EQ(reason(ScheduleKind::interleaved, {1, 3, 1}), "none");
  EXPECT_EQ(reason(ScheduleKind::interleaved, {4, 6, 2}),
            "schedule 'interleaved' needs a number of micro-batches that 4 pipeline ranks divide, not 6");
  EXPECT_EQ(reason(ScheduleKind::interleaved, {1, 4, 2}),
            "2 virtual stages need a pipeline of at least 2 ranks");
  EXPECT_EQ(reason(ScheduleKind::one_f_one_b, {4, 8, 2}),
            "schedule '1f1b' plays one stage per rank, not 2 virtual stages; 'interleaved' does");
}

std::string fault_of(const std::vector<Lane>& lanes, int64_t chunks = 1) {
  return find_fault(lanes, chunks).value_or("none");
}

constexpr auto fw = ActionKind::forward;
constexpr auto bw = ActionKind::backward;

TEST(FindFault, SeesLostAndRepeatedWork) {
  EXPECT_EQ(fault_of({{{fw, 0}, {bw, 0}}}), "none");
  EXPECT_EQ(fault_of({{{fw, 0}, {bw, 0}, {fw, 1}}}), "rank 0: backward(1) is missing");
  EXPECT_EQ(fault_of({{{fw, 1}, {bw, 1}}}), "rank 0: forward(0) is missing");
  EXPECT_EQ(fault_of({{{bw, 0}, {fw, 0}}}), "rank 0: backward(0) comes before its forward");
  EXPECT_EQ(fault_of({{{fw, 0}, {fw, 0}, {bw, 0}}}), "rank 0: forward(0) comes twice");
  EXPECT_EQ(fault_of({{{fw, 0, 1}, {bw, 0}}}), "rank 0: forward(0) names chunk 1, but a rank has 1");
  EXPECT_EQ(fault_of({{{fw, -1}, {bw, 0}}}), "rank 0: forward(-1) has no such micro-batch");
  EXPECT_EQ(fault_of({{{fw, 0}, {bw, 0}}, {{fw, 0}, {bw, 0}}}, 2), "rank 0: forward(0, chunk 1) is missing");
}

TEST(FindFault, SeesLanesThatWaitForEachOther) {
  // The second rank wants both forwards before its first backward; the first one gives the second forward
  // only after that backward.
  EXPECT_EQ(fault_of({{{fw, 0}, {bw, 0}, {fw, 1}, {bw, 1}}, {{fw, 0}, {fw, 1}, {bw, 0}, {bw, 1}}}),
            "the lanes hang: rank 0 waits at backward(0), rank 1 waits at forward(1)");
}

TEST(FindFault, SeesAChunkThatComesTooEarly) {
  // Chunk 1 of rank 0 needs chunk 0 of rank 1 first, which waits for chunk 0 of rank 0.
  EXPECT_EQ(fault_of({{{fw, 0, 1}, {fw, 0, 0}, {bw, 0, 1}, {bw, 0, 0}},
                      {{fw, 0, 0}, {fw, 0, 1}, {bw, 0, 1}, {bw, 0, 0}}},
                     2),
            "the lanes hang: rank 0 waits at forward(0, chunk 1), rank 1 waits at forward(0, chunk 0)");
}

TEST(FindFault, SeesMessagesOutOfOrder) {
  EXPECT_EQ(fault_of({{{fw, 0}, {fw, 1}, {bw, 0}, {bw, 1}}, {{fw, 1}, {fw, 0}, {bw, 0}, {bw, 1}}}),
            "rank 1 wants forward(1) next, but its neighbour sends micro-batch 0 first");
}

}  // namespace
}  // namespace galvatron::plan
