// What waiting for the last one is found to be: a group whose members take long in turn, curves that never
// fall and are the same everywhere, and nothing measured twice.
#include "measure/lateness.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "core/format.hpp"
#include "mpi/measure/support.hpp"

namespace galvatron::measure {
namespace {

using test::Live;

struct Bench : Live {
  std::vector<GroupSet> sets = group_sets(nodes());
  cost::HardwareProfile profile;
  store::RawTable raw;
  LatenessOptions options;

  LatenessCoverage measure(const std::function<void()>& compute, double seconds = 20) {
    Budget budget(*world, seconds);
    budget.begin("lateness", 1.0);
    return measure_lateness(*world, *device, compute, sets, options, budget, profile, raw);
  }
};

void rest(double milliseconds) {
  std::this_thread::sleep_for(std::chrono::duration<double, std::milli>(milliseconds));
}

TEST(Lateness, MembersThatTakeLongInTurnAreWaitedFor) {
  Bench bench;
  if (bench.sets.empty()) GTEST_SKIP() << "one rank has nobody to wait for";
  bench.options.compute_seconds = {1e-3};
  const int size = bench.world->size(), rank = bench.world->rank();
  // One of the ranks takes 4 ms, the others half of one; by turns, so that all are equally fast.
  int turn = 0;
  const auto coverage = bench.measure([&] { rest(turn++ % size == rank ? 4 : 0.5); });
  EXPECT_EQ(coverage.measured, coverage.wanted);
  ASSERT_EQ(bench.profile.lateness.size(), 1u) << "on one node the largest group is that of all";
  const auto& [shape, curve] = *bench.profile.lateness.begin();
  EXPECT_EQ(shape.ranks, size);
  ASSERT_EQ(curve.points.size(), 1u);
  const double mean = (4e-3 + 0.5e-3 * (size - 1)) / size;
  EXPECT_GT(curve.points[0].seconds, 0.5 * (4e-3 - mean));
  EXPECT_EQ(cost::lateness_of(bench.profile, shape, 1e-3), curve.points[0].seconds);
}

TEST(Lateness, CurvesNeverFallAndAreTheSameEverywhere) {
  Bench bench;
  const auto coverage = bench.measure([] { rest(0.05); });
  EXPECT_EQ(coverage.measured, coverage.wanted);
  std::string text;
  for (const auto& [shape, curve] : bench.profile.lateness) {
    ASSERT_EQ(curve.points.size(), bench.options.compute_seconds.size());
    for (size_t i = 0; i < curve.points.size(); ++i) {
      const auto& point = curve.points[i];
      EXPECT_GE(point.seconds, 0);
      if (i > 0) {
        EXPECT_GT(point.x, curve.points[i - 1].x);
        EXPECT_GE(point.seconds, curve.points[i - 1].seconds);
      }
      text += core::format("{} {} {}\n", shape.ranks, point.x, point.seconds);
    }
  }
  EXPECT_TRUE(bench.same_everywhere(text)) << "ranks hold different curves";
}

TEST(Lateness, PointsThatAreThereStay) {
  Bench bench;
  if (bench.sets.empty()) GTEST_SKIP() << "one rank has nobody to wait for";
  const auto compute = [] { rest(0.05); };
  bench.measure(compute);
  const auto before = bench.profile.lateness;
  EXPECT_EQ(bench.measure(compute).kept, static_cast<int64_t>(bench.options.compute_seconds.size()));
  EXPECT_TRUE(bench.profile.lateness == before);
  bench.profile.lateness.begin()->second.points.pop_back();
  const auto coverage = bench.measure(compute);
  EXPECT_EQ(coverage.kept, coverage.wanted - 1);
  EXPECT_EQ(bench.profile.lateness.begin()->second.points.size(), before.begin()->second.points.size());
}

TEST(Lateness, WithoutTimeNothingIsMeasured) {
  Bench bench;
  EXPECT_EQ(bench.measure([] {}, 0).measured, 0);
  EXPECT_TRUE(bench.profile.lateness.empty());
}

}  // namespace
}  // namespace galvatron::measure
