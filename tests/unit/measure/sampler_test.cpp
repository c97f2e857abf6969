// The sampler on pretended durations: it warms up, stops at the count or at the time, and is deterministic.
#include "measure/sampler.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <vector>

namespace galvatron::measure {
namespace {

struct Run {
  int64_t iterations = 0;
  double seconds = 0;
  std::vector<double> samples;
};

Run run(const SampleRule& rule, const std::function<double(int64_t)>& duration) {
  Sampler sampler(rule);
  Run out;
  for (auto count = sampler.next_batch(); count > 0; count = sampler.next_batch()) {
    std::vector<double> batch;
    double elapsed = 0;
    for (int64_t i = 0; i < count; ++i) {
      batch.push_back(duration(out.iterations++));
      elapsed += batch.back();
    }
    sampler.add(batch, elapsed);
    out.seconds += elapsed;
    if (out.iterations > 100000) break;
  }
  out.samples = sampler.samples();
  return out;
}

TEST(Sampler, TakesTheTargetWhenThereIsTime) {
  SampleRule rule;
  rule.target = 37;
  rule.seconds = 1;
  const auto r = run(rule, [](int64_t) { return 1e-4; });
  EXPECT_EQ(r.samples.size(), 37u);
  EXPECT_GE(r.iterations, 37 + 1 + 2 * rule.warm_batch) << "no warm-up";
}

TEST(Sampler, LeavesTheWarmUpOut) {
  SampleRule rule;
  rule.target = 20;
  rule.seconds = 10;
  // Falls to its plateau within 30 iterations.
  const auto r = run(rule, [](int64_t i) { return i < 30 ? 1e-3 * static_cast<double>(40 - i) : 1e-3; });
  for (const double s : r.samples) EXPECT_EQ(s, 1e-3);
}

TEST(Sampler, StopsAtTheTime) {
  SampleRule rule;
  rule.target = 1000;
  rule.seconds = 0.1;
  const auto r = run(rule, [](int64_t) { return 1e-3; });
  EXPECT_LE(r.seconds, 0.11);
  EXPECT_GE(r.samples.size(), 50u);
}

TEST(Sampler, SlowThingsStillGiveTheMinimum) {
  SampleRule rule;
  rule.seconds = 0.1;
  const auto r = run(rule, [](int64_t) { return 5.0; });
  EXPECT_EQ(static_cast<int64_t>(r.samples.size()), rule.minimum);
  EXPECT_EQ(r.iterations, rule.minimum + 1);
}

TEST(Sampler, IsPatientForSoLong) {
  SampleRule rule;
  rule.seconds = 0.1;
  rule.patience = 8;
  EXPECT_EQ(run(rule, [](int64_t) { return 5.0; }).samples.size(),
            1u);  // the one that does not count is 5 s, too
  EXPECT_EQ(run(rule, [](int64_t) { return 2.0; }).samples.size(), 3u);
}

TEST(Sampler, NoTimeAtAllStillEnds) {
  SampleRule rule;
  rule.seconds = 0;
  const auto r = run(rule, [](int64_t) { return 1e-6; });
  EXPECT_EQ(static_cast<int64_t>(r.samples.size()), rule.minimum);
}

TEST(Sizes, AreGeometricAndEndAtTheLast) {
  EXPECT_EQ(geometric_sizes(8, 512, 4), (std::vector<int64_t>{8, 32, 128, 512}));
  EXPECT_EQ(geometric_sizes(8, 600, 4), (std::vector<int64_t>{8, 32, 128, 512, 600}));
  EXPECT_EQ(geometric_sizes(8, 8, 2), (std::vector<int64_t>{8}));
}

}  // namespace
}  // namespace galvatron::measure
