// Summaries, fits and outliers against values worked out by hand.
#include "measure/statistics.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>
#include <vector>

#include "core/random.hpp"

namespace galvatron::measure {
namespace {

TEST(Summary, OfOneSample) {
  const auto s = summarise(std::vector{2.5});
  EXPECT_EQ(s.minimum, 2.5);
  EXPECT_EQ(s.median, 2.5);
  EXPECT_EQ(s.p95, 2.5);
  EXPECT_EQ(s.coefficient_of_variation, 0);
  EXPECT_EQ(s.samples, 1);
}

TEST(Summary, NearestRank) {
  std::vector<double> values(200);
  std::iota(values.rbegin(), values.rend(), 1.0);  // 1 … 200, backwards
  const auto s = summarise(values);
  EXPECT_EQ(s.minimum, 1);
  EXPECT_EQ(s.median, 100.5);
  EXPECT_EQ(s.p95, 190);
  EXPECT_EQ(s.p99, 198);
  EXPECT_EQ(s.samples, 200);
}

TEST(Summary, CoefficientOfVariation) {
  const auto s = summarise(std::vector{2.0, 4.0, 4.0, 4.0, 5.0, 5.0, 7.0, 9.0});  // mean 5, Σ(x−5)² = 32
  EXPECT_NEAR(s.coefficient_of_variation, std::sqrt(32.0 / 7.0) / 5.0, 1e-12);
}

TEST(Fit, RecoversLatencyAndBandwidth) {
  for (const double latency : {0.0, 3e-7, 2e-5}) {
    for (const double bandwidth : {1e8, 1.2e10}) {
      std::vector<SizedTime> points;
      for (double bytes = 8; bytes <= 1 << 24; bytes *= 4)
        points.push_back({bytes, latency + bytes / bandwidth});
      const auto fit = fit_latency_bandwidth(points);
      EXPECT_NEAR(fit.latency_seconds, latency, 1e-6 * latency + 1e-15) << "bandwidth " << bandwidth;
      EXPECT_NEAR(fit.bytes_per_second, bandwidth, 1e-6 * bandwidth) << "latency " << latency;
      EXPECT_LT(fit.relative_residual, 1e-9);
    }
  }
}

TEST(Fit, RecoversThemThroughNoise) {
  const auto key = core::key_of(7, "noise of a link");
  std::vector<SizedTime> points;
  uint64_t i = 0;
  for (int repeat = 0; repeat < 8; ++repeat)
    for (double bytes = 8; bytes <= 1 << 22; bytes *= 2)
      points.push_back({bytes, (1e-6 + bytes / 5e9) * (1.0 + 0.05 * core::normal(key, i++))});
  const auto fit = fit_latency_bandwidth(points);
  EXPECT_NEAR(fit.latency_seconds, 1e-6, 0.05e-6);
  EXPECT_NEAR(fit.bytes_per_second, 5e9, 0.05 * 5e9);
  EXPECT_NEAR(fit.relative_residual, 0.05, 0.02);
}

TEST(Fit, NeverGivesANegativeLatency) {
  // Small messages that are faster than the large ones' slope allows.
  const auto fit = fit_latency_bandwidth(std::vector<SizedTime>{{1000, 0.5e-6}, {2000, 2e-6}, {4000, 4e-6}});
  EXPECT_EQ(fit.latency_seconds, 0);
  EXPECT_GT(fit.bytes_per_second, 0);
}

TEST(Fit, TimesThatFallWithSizeStayUsable) {
  const auto fit = fit_latency_bandwidth(std::vector<SizedTime>{{8, 3e-6}, {64, 2e-6}, {512, 1e-6}});
  EXPECT_GT(fit.latency_seconds, 0);
  EXPECT_TRUE(std::isfinite(fit.bytes_per_second));
  EXPECT_GT(fit.bytes_per_second, 0);
}

TEST(Fit, OnePointIsALineThroughTheOrigin) {
  const auto fit = fit_latency_bandwidth(std::vector<SizedTime>{{1000, 1e-6}});
  EXPECT_EQ(fit.latency_seconds, 0);
  EXPECT_NEAR(fit.bytes_per_second, 1e9, 1);
}

TEST(SlowOnes, FindsTheOneThatIsSlow) {
  const std::vector<double> bandwidth = {10.0, 10.1, 9.9, 10.05, 3.0, 9.95};
  const auto slow = slow_ones(bandwidth, Worse::lower);
  ASSERT_EQ(slow.size(), 1u);
  EXPECT_EQ(slow[0].index, 4);
  EXPECT_EQ(slow[0].value, 3.0);
  EXPECT_GT(slow[0].robust_z, 3.5);
}

TEST(SlowOnes, FastOnesAreNoFault) {
  EXPECT_TRUE(slow_ones(std::vector{10.0, 10.1, 9.9, 30.0}, Worse::lower).empty());
  EXPECT_EQ(slow_ones(std::vector{10.0, 10.1, 9.9, 30.0}, Worse::higher).size(), 1u);
}

TEST(SlowOnes, SmallDeviationsAmongVeryEvenOnesAreNoFault) {
  EXPECT_TRUE(slow_ones(std::vector{1.0, 1.0, 1.0, 1.0, 1.09}, Worse::higher).empty());
  EXPECT_EQ(slow_ones(std::vector{1.0, 1.0, 1.0, 1.0, 1.11}, Worse::higher).size(), 1u);
}

TEST(SlowOnes, AWideSpreadHasNoOutlier) {
  EXPECT_TRUE(slow_ones(std::vector{1.0, 2.0, 3.0, 4.0, 5.0}, Worse::higher).empty());
}

TEST(SlowOnes, TwoCannotAccuseEachOther) {
  EXPECT_TRUE(slow_ones(std::vector{1.0, 9.0}, Worse::higher).empty());
}

}  // namespace
}  // namespace galvatron::measure
