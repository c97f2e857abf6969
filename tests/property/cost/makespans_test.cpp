// Simulated makespans of equal stages against the closed forms of the papers, for every small pipeline.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "cost/simulator.hpp"
#include "support/paths.hpp"

namespace galvatron::cost {
namespace {

using plan::PipelineShape;
using plan::ScheduleKind;

constexpr double forward = 1, backward = 2;

/// Stages that divide a rank's work evenly: all chunks together take `forward` and `backward`.
Simulation played(ScheduleKind kind, const PipelineShape& shape) {
  const auto chunks = static_cast<double>(shape.chunks);
  const std::vector<StageTimes> times(static_cast<size_t>(shape.stages()),
                                      {.forward = forward / chunks, .backward = backward / chunks});
  return simulate(plan::make_schedule(kind, shape), times);
}

std::string text_of(ScheduleKind kind, const PipelineShape& shape) {
  return std::string(plan::name_of(kind)) + ", " + std::to_string(shape.ranks) + " ranks × " +
         std::to_string(shape.chunks) + " stages, " + std::to_string(shape.micros) + " micro-batches";
}

TEST(Makespan, EqualStagesHaveTheTextbookBubble) {
  for (const auto kind : {ScheduleKind::gpipe, ScheduleKind::one_f_one_b, ScheduleKind::eager_one_f_one_b})
    for (int64_t ranks = 1; ranks <= 16; ++ranks)
      for (int64_t micros = 1; micros <= 64; ++micros)
        ASSERT_NEAR(played(kind, {ranks, micros, 1}).makespan,
                    static_cast<double>(micros + ranks - 1) * (forward + backward), 1e-9)
            << text_of(kind, {ranks, micros, 1});
}

TEST(Makespan, VirtualStagesDivideTheBubble) {
  for (int64_t chunks = 1; chunks <= 4; ++chunks)
    for (int64_t ranks = 2; ranks <= 16; ++ranks)
      for (int64_t micros = ranks; micros <= 64; micros += ranks) {
        const PipelineShape shape{ranks, micros, chunks};
        const auto bubble = static_cast<double>(ranks - 1) / static_cast<double>(chunks);
        ASSERT_NEAR(played(ScheduleKind::interleaved, shape).makespan,
                    (static_cast<double>(micros) + bubble) * (forward + backward), 1e-9)
            << text_of(ScheduleKind::interleaved, shape);
      }
}

/// What eager 1F1B is for: messages whose way takes as long as half an action cost it less.
TEST(Makespan, EagerWarmUpHidesTransfers) {
  for (int64_t ranks = 3; ranks <= 8; ++ranks) {
    const PipelineShape shape{ranks, 8 * ranks, 1};
    const std::vector<StageTimes> times(
        static_cast<size_t>(ranks),
        {.forward = forward, .backward = backward, .send_forward = 0.5, .send_backward = 0.5});
    const auto eager = simulate(plan::make_schedule(ScheduleKind::eager_one_f_one_b, shape), times),
               plain = simulate(plan::make_schedule(ScheduleKind::one_f_one_b, shape), times);
    EXPECT_LT(eager.makespan, 0.95 * plain.makespan) << ranks << " ranks";
  }
}

/// Stages of any times: the bound holds, and it is the makespan where stages are equal and messages free.
TEST(Makespan, IsNoShorterThanItsBound) {
  test::Dice dice(7);
  const auto random = [&] { return 0.1 * static_cast<double>(1 + dice.below(40)); };
  for (const auto kind : {ScheduleKind::gpipe, ScheduleKind::one_f_one_b, ScheduleKind::eager_one_f_one_b,
                          ScheduleKind::interleaved})
    for (int64_t ranks = 1; ranks <= 6; ++ranks)
      for (int64_t micros = 1; micros <= 18; ++micros)
        for (int64_t chunks = 1; chunks <= 2; ++chunks) {
          const PipelineShape shape{ranks, micros, chunks};
          if (plan::illegal_reason(kind, shape)) continue;
          const auto lanes = plan::make_schedule(kind, shape);
          std::vector<int64_t> slots;
          std::vector<StageTimes> times, equal;
          for (int64_t stage = 0; stage < shape.stages(); ++stage) {
            slots.push_back(plan::in_flight(kind, shape, stage % ranks, static_cast<int32_t>(stage / ranks)));
            ASSERT_EQ(slots.back(), plan::in_flight(lanes[static_cast<size_t>(stage % ranks)],
                                                    static_cast<int32_t>(stage / ranks)))
                << text_of(kind, shape);
            StageTimes one{.forward = random(), .backward = random(), .sync = random(), .update = random()};
            if (stage + 1 < shape.stages()) one.send_forward = random();
            if (stage > 0) one.send_backward = random();
            times.push_back(one);
            equal.push_back({.forward = forward, .backward = backward});
          }
          const double makespan = simulate(lanes, times).makespan;
          ASSERT_LE(least_makespan(times, slots, shape), makespan) << text_of(kind, shape);
          if (chunks == 1) {
            ASSERT_NEAR(least_makespan(equal, slots, shape), simulate(lanes, equal).makespan, 1e-6)
                << text_of(kind, shape);
          }
        }
}

}  // namespace
}  // namespace galvatron::cost
