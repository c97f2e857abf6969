// Counter-based numbers: fixed for all time, independent of order, and distributed as they say.
#include "core/random.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "core/fingerprint.hpp"

namespace galvatron::core {
namespace {

TEST(Fingerprint, IsTheSameForEver) {
  EXPECT_EQ(fingerprint(""), "cbf29ce484222325");
  EXPECT_EQ(fingerprint("a"), "af63dc4c8601ec8c");  // published FNV-1a test vectors
  EXPECT_EQ(fingerprint("foobar"), "85944171f73967e8");
}

TEST(Random, FollowsThePublishedGenerator) {
  // Random123's known-answer test: Philox 4x32-10 of key 0 and counter 0 is 6627e8d5 e169c58d bc57ac4c
  // 9b00dbd8.
  EXPECT_EQ(random_bits(0, 0), 0xe169c58d6627e8d5U);
  EXPECT_EQ(random_bits(0, 1), 0x9b00dbd8bc57ac4cU);
}

TEST(Random, DependsOnSeedNameAndIndexAlone) {
  const uint64_t key = key_of(1234, "layer0.up");
  EXPECT_EQ(key, key_of(1234, "layer0.up"));
  EXPECT_NE(key, key_of(1235, "layer0.up"));
  EXPECT_NE(key, key_of(1234, "layer1.up"));
  std::vector<double> backwards(100);
  for (size_t i = backwards.size(); i-- > 0;) backwards[i] = normal(key, i);
  for (size_t i = 0; i < backwards.size(); ++i) EXPECT_EQ(backwards[i], normal(key, i)) << "index " << i;
}

TEST(Random, FillEqualsSingleNumbersFromAnyStart) {
  const uint64_t key = key_of(7, "x");
  for (uint64_t first : {uint64_t{0}, uint64_t{1}, (uint64_t{1} << 33) + 5}) {
    for (size_t count : {0, 1, 2, 7}) {
      std::vector<double> filled(count);
      fill_normal(key, first, filled);
      for (size_t i = 0; i < count; ++i) EXPECT_EQ(filled[i], normal(key, first + i)) << first << " + " << i;
    }
  }
}

TEST(Random, NormalsHaveTheRightMoments) {
  const uint64_t key = key_of(1, "moments");
  const int64_t count = 200'000;
  double sum = 0.0;
  double squares = 0.0;
  double fourths = 0.0;
  for (int64_t i = 0; i < count; ++i) {
    const double x = normal(key, i);
    sum += x;
    squares += x * x;
    fourths += x * x * x * x;
  }
  // Five standard errors of each estimate.
  EXPECT_NEAR(sum / count, 0.0, 5.0 / std::sqrt(count));
  EXPECT_NEAR(squares / count, 1.0, 5.0 * std::sqrt(2.0 / count));
  EXPECT_NEAR(fourths / count, 3.0, 5.0 * std::sqrt(96.0 / count));
}

TEST(Random, UniformsFillTheirRange) {
  const uint64_t key = key_of(1, "uniform");
  std::vector<int64_t> counts(10, 0);
  for (int64_t i = 0; i < 100'000; ++i) {
    const double u = uniform(key, i);
    ASSERT_GE(u, 0.0);
    ASSERT_LT(u, 1.0);
    const int64_t bin = uniform_below(key, i, 10);
    ASSERT_EQ(bin, static_cast<int64_t>(u * 10.0)) << "both read the same bits, at index " << i;
    ++counts[bin];
  }
  for (const int64_t n : counts) EXPECT_NEAR(static_cast<double>(n), 10'000.0, 500.0);
}

}  // namespace
}  // namespace galvatron::core
