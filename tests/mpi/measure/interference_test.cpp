// What computing and talking cost each other: a row for every kind and size, factors that are factors, and
// nothing measured twice.
#include "measure/interference.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "core/format.hpp"
#include "kernels/kernels.hpp"
#include "mpi/measure/support.hpp"

namespace galvatron::measure {
namespace {

using test::Live;

struct Bench : Live {
  std::unique_ptr<kernels::Kernels> kernels = kernels::make_kernels(*device, 1);
  std::vector<GroupSet> sets = group_sets(nodes());
  cost::HardwareProfile profile;
  store::RawTable raw;

  InterferenceCoverage measure(Budget& budget) {
    InterferenceOptions options;
    options.sizes = {4096, 262144};
    options.gemm_size = 64;
    options.burst_seconds = 0.005;
    budget.begin("interference", 1.0);
    return measure_interference(*world, *device, *kernels, sets, options, budget, profile, raw);
  }
};

TEST(Interference, EveryKindAndSizeHasARow) {
  Bench bench;
  Budget budget(*bench.world, 20);
  const auto coverage = bench.measure(budget);
  EXPECT_EQ(coverage.measured, coverage.wanted);
  EXPECT_EQ(coverage.wanted, bench.sets.empty() ? 0 : 5 * 2) << "one node: the largest group is that of all";
  std::string text;
  for (const auto& row : bench.profile.interference) {
    const auto name = core::format("{} of {} bytes", core::name_of(row.kind), row.bytes);
    EXPECT_TRUE(std::isfinite(row.compute) && row.compute >= 1) << name << ": " << row.compute;
    EXPECT_TRUE(std::isfinite(row.collective) && row.collective >= 1) << name << ": " << row.collective;
    EXPECT_EQ(row.shape.ranks, bench.world->size()) << name;
    const auto* found = cost::interference_of(bench.profile, row.kind, row.shape, row.bytes);
    ASSERT_NE(found, nullptr) << name;
    EXPECT_TRUE(*found == row) << name;
    text += core::format("{} {} {}\n", name, row.compute, row.collective);
  }
  EXPECT_TRUE(bench.same_everywhere(text)) << "ranks hold different factors";
}

TEST(Interference, RowsThatAreThereStay) {
  Bench bench;
  if (bench.sets.empty()) GTEST_SKIP() << "one rank has nobody to talk to";
  Budget budget(*bench.world, 20);
  bench.measure(budget);
  auto rows = bench.profile.interference;
  bench.profile.interference.erase(bench.profile.interference.begin() + 3);
  const auto coverage = bench.measure(budget);
  EXPECT_EQ(coverage.kept, coverage.wanted - 1);
  ASSERT_EQ(bench.profile.interference.size(), rows.size());
  rows[3] = bench.profile.interference[3];
  EXPECT_TRUE(bench.profile.interference == rows);
}

TEST(Interference, WithoutTimeNothingIsMeasured) {
  Bench bench;
  Budget budget(*bench.world, 0);
  EXPECT_EQ(bench.measure(budget).measured, 0);
}

}  // namespace
}  // namespace galvatron::measure
