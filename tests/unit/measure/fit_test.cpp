// The piecewise fit finds the lines that data was made of, no more of them than that, and never falls.
#include "measure/fit.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "core/random.hpp"
#include "measure/sampler.hpp"

namespace galvatron::measure {
namespace {

struct Line {
  double from = 0, latency = 0, rate = 0;
};

std::vector<cost::Curve::Point> made_of(const std::vector<Line>& lines, double noise, uint64_t seed = 1) {
  std::vector<cost::Curve::Point> points;
  const auto key = core::key_of(seed, "noise of a curve");
  for (const auto bytes : geometric_sizes(8, int64_t{64} << 20, 2)) {
    const Line* line = &lines.front();
    const auto x = static_cast<double>(bytes);
    for (const auto& next : lines)
      if (x >= next.from) line = &next;
    cost::Curve::Point point;
    point.x = x;
    point.seconds = (line->latency + x / line->rate) * (1 + noise * core::normal(key, points.size()));
    points.push_back(point);
  }
  return points;
}

TEST(Fit, OneLineStaysOneLine) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    const auto points = made_of({{0, 2e-5, 1e9}}, 0.02, seed);
    const auto fit = fit_pieces(points);
    ASSERT_EQ(fit.segments.size(), 1U) << "seed " << seed;
    EXPECT_NEAR(fit.segments[0].latency_seconds, 2e-5, 1e-6) << "seed " << seed;
    EXPECT_NEAR(1 / fit.segments[0].seconds_per_x, 1e9, 5e7) << "seed " << seed;
    EXPECT_LT(fit.relative_residual, 0.04) << "seed " << seed;
  }
}

TEST(Fit, AProtocolChangeBecomesALineOfItsOwn) {
  // From 4 KiB on each message asks first: more latency, more bandwidth.
  const auto points = made_of({{0, 1e-6, 2e9}, {8192, 1e-5, 1e10}}, 0.01);
  const auto fit = fit_pieces(points);
  ASSERT_EQ(fit.segments.size(), 2U);
  EXPECT_GT(fit.segments[1].first, 4096);
  EXPECT_LE(fit.segments[1].first, 8192);
  EXPECT_NEAR(1 / fit.segments[0].seconds_per_x, 2e9, 2e8);
  EXPECT_NEAR(1 / fit.segments[1].seconds_per_x, 1e10, 5e8);
  EXPECT_NEAR(fit.at(1 << 20), 1e-5 + (1 << 20) / 1e10, 0.03 * fit.at(1 << 20));
}

TEST(Fit, ThreeLinesAreTheMost) {
  const auto points =
      made_of({{0, 1e-6, 1e9}, {1024, 1e-5, 4e9}, {65536, 1e-4, 1.6e10}, {1 << 22, 3e-3, 3e10}}, 0.01);
  const auto fit = fit_pieces(points);
  EXPECT_EQ(fit.segments.size(), 3U);
  EXPECT_EQ(fit.residuals.size(), points.size());
}

TEST(Fit, NeverFallsAndNeverIsNegative) {
  for (uint64_t seed = 1; seed <= 50; ++seed) {
    // A drop at 64 KiB and a lot of noise: what was measured falls, the fit must not.
    const auto points = made_of({{0, 1e-5, 1e8}, {65536, 1e-6, 2e9}}, 0.3, seed);
    bool positive = true;
    for (const auto& p : points) positive = positive && p.seconds > 0;
    if (!positive) continue;  // three standard deviations of noise are below zero
    const auto fit = fit_pieces(points);
    double before = 0;
    for (double x = 1; x < 2e8; x *= 1.01) {
      EXPECT_GE(fit.at(x), before) << "seed " << seed << " at " << x;
      before = fit.at(x);
    }
    for (const auto& segment : fit.segments) {
      EXPECT_GE(segment.latency_seconds, 0) << "seed " << seed;
      EXPECT_GT(segment.seconds_per_x, 0) << "seed " << seed;
    }
  }
}

TEST(Fit, ResidualsAreOfThePoints) {
  const auto points = made_of({{0, 2e-5, 1e9}}, 0.1);
  const auto fit = fit_pieces(points);
  double squares = 0;
  for (size_t i = 0; i < points.size(); ++i) {
    const double expected = (fit.at(points[i].x) - points[i].seconds) / points[i].seconds;
    EXPECT_DOUBLE_EQ(fit.residuals[i], expected) << "point " << i;
    squares += expected * expected;
  }
  EXPECT_NEAR(fit.relative_residual, std::sqrt(squares / static_cast<double>(points.size())), 1e-12);
}

TEST(Fit, FewPointsAreEnough) {
  EXPECT_TRUE(fit_pieces({}).segments.empty());
  std::vector<cost::Curve::Point> points = made_of({{0, 2e-5, 1e9}}, 0);
  for (size_t n = 1; n <= 7; ++n) {
    const auto fit = fit_pieces(std::span(points).first(n));
    EXPECT_EQ(fit.segments.size(), 1U) << n << " points";
    EXPECT_GE(fit.segments[0].latency_seconds, 0) << n << " points";
  }
}

}  // namespace
}  // namespace galvatron::measure
