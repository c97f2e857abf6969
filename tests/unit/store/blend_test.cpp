// A blend keeps every source within one sample of its share at every moment, and which sample comes where
// follows from its number alone.
#include "store/blend.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>
#include <random>
#include <set>

#include "core/errors.hpp"
#include "store/joined_dataset.hpp"

namespace galvatron::store {
namespace {

/// Walks `samples` samples and checks each source's count after every one of them.
void expect_within_one(const std::vector<double>& weights, int64_t samples) {
  Blend blend(weights);
  std::vector<int64_t> taken(weights.size());
  for (int64_t k = 0; k < samples; ++k) {
    const auto pick = blend.pick(k);
    auto& count = taken[static_cast<size_t>(pick.source)];
    ASSERT_EQ(pick.sample, count) << "sample " << k << ", source " << pick.source;
    ++count;
    for (size_t i = 0; i < taken.size(); ++i) {
      const double share = static_cast<double>(blend.shares()[i]) * 1e-6 * static_cast<double>(k + 1);
      ASSERT_LT(std::abs(static_cast<double>(taken[i]) - share), 1.0)
          << "source " << i << " of " << taken.size() << " after " << k + 1 << " samples";
    }
  }
}

TEST(Blend, EverySourceIsWithinOneSampleOfItsShare) {
  expect_within_one({1}, 100);
  expect_within_one({0.7, 0.3}, 20'000);
  expect_within_one({1, 1, 1}, 20'000);
  expect_within_one({0.999, 0.0005, 0.0005}, 20'000);
  std::mt19937_64 generator(11);
  std::exponential_distribution<double> weight(1.0);
  for (int round = 0; round < 40; ++round) {
    std::vector<double> weights(2 + generator() % 12);
    for (auto& w : weights) w = weight(generator) + 1e-6;
    SCOPED_TRACE("round " + std::to_string(round));
    expect_within_one(weights, 3000);
  }
}

TEST(Blend, SharesAreTheWeightsInMillionths) {
  const auto shares = [](const std::vector<double>& weights) { return Blend(weights).shares(); };
  EXPECT_EQ(shares({0.7, 0.3}), (std::vector<int64_t>{700'000, 300'000}));
  EXPECT_EQ(shares({3, 1}), (std::vector<int64_t>{750'000, 250'000}));
  EXPECT_EQ(shares({1, 1, 1}), (std::vector<int64_t>{333'334, 333'333, 333'333}));
  EXPECT_EQ(shares({1e9, 1e-3}), (std::vector<int64_t>{999'999, 1}));
  std::mt19937_64 generator(3);
  std::uniform_real_distribution<double> weight(1e-9, 1.0);
  for (int round = 0; round < 100; ++round) {
    std::vector<double> weights(1 + generator() % 50);
    for (auto& w : weights) w = weight(generator);
    const auto found = shares(weights);
    EXPECT_EQ(std::accumulate(found.begin(), found.end(), int64_t{0}), 1'000'000) << "round " << round;
    for (const auto share : found) EXPECT_GE(share, 1);
  }
}

TEST(Blend, AJumpFindsWhatAWalkFinds) {
  const std::vector<double> weights = {5, 3, 1.5, 0.5};
  Blend walk(weights);
  std::vector<Blend::Pick> picks;
  for (int64_t k = 0; k < 3000; ++k) picks.push_back(walk.pick(k));
  std::mt19937_64 generator(5);
  Blend jump(weights);
  for (int i = 0; i < 200; ++i) {
    const auto k = static_cast<int64_t>(generator() % picks.size());
    const auto pick = jump.pick(k);
    ASSERT_EQ(pick.source, picks[static_cast<size_t>(k)].source) << "sample " << k;
    ASSERT_EQ(pick.sample, picks[static_cast<size_t>(k)].sample) << "sample " << k;
  }
  // Far beyond the first period of a million samples it goes on as it began.
  for (const int64_t k : {0, 1, 2999}) {
    const auto pick = jump.pick(7'000'000 + k), first = picks[static_cast<size_t>(k)];
    EXPECT_EQ(pick.source, first.source);
    EXPECT_EQ(pick.sample, first.sample + 7 * walk.shares()[static_cast<size_t>(first.source)]);
  }
}

TEST(BlendOrder, OnePartIsTheOrderOfTheWhole) {
  const SampleOrder whole(9, 1000, 6, "data");
  BlendOrder order(9, {{0, 1000, 1.0}}, 6, "data");
  for (int64_t n = 0; n < 400; ++n) ASSERT_EQ(order.offset_of(n), whole.offset_of(n)) << "sample " << n;
}

TEST(BlendOrder, EverySourceIsWalkedInItsOwnEpochs) {
  // 20 windows of the first source and 10 of the second, 4 to 1: the first begins again after 25 samples.
  BlendOrder order(9, {{0, 140, 4.0}, {140, 70, 1.0}}, 6, "data");
  std::set<int64_t> first, second;
  for (int64_t n = 0; n < 25; ++n) {
    const auto offset = order.offset_of(n);
    ASSERT_EQ(offset % 7, 0);
    ASSERT_LE(offset, 203);
    const bool is_new = (offset < 140 ? first : second).insert(offset).second;
    EXPECT_TRUE(is_new) << "sample " << n << " repeats a window of its epoch";
  }
  EXPECT_EQ(first.size(), 20U);
  EXPECT_EQ(second.size(), 5U);
  EXPECT_THROW(BlendOrder(9, {{0, 140, 1.0}, {140, 6, 1.0}}, 6, "data"), core::UserError);
}

TEST(Joined, ReadsAcrossItsStretches) {
  const std::shared_ptr<const Dataset> a = make_synthetic_dataset(1, "a", 100, 50);
  const std::shared_ptr<const Dataset> b = make_synthetic_dataset(1, "b", 100, 70);
  const auto joined = join_datasets({{a, 10, 5}, {b, 0, 0}, {b, 40, 7}, {a, 0, 3}});
  EXPECT_EQ(joined->tokens(), 15);
  EXPECT_EQ(joined->vocabulary(), 70);
  std::vector<int32_t> expected(15);
  a->read(10, std::span(expected).subspan(0, 5));
  b->read(40, std::span(expected).subspan(5, 7));
  a->read(0, std::span(expected).subspan(12, 3));
  for (int64_t begin = 0; begin < 15; ++begin) {
    for (int64_t end = begin; end <= 15; ++end) {
      std::vector<int32_t> read(static_cast<size_t>(end - begin));
      joined->read(begin, read);
      EXPECT_TRUE(std::equal(read.begin(), read.end(), expected.begin() + begin))
          << "tokens " << begin << " to " << end;
    }
  }
  EXPECT_NE(joined->fingerprint(), join_datasets({{a, 10, 5}, {b, 40, 7}, {a, 1, 3}})->fingerprint());
  EXPECT_NE(joined->fingerprint(),
            join_datasets({{a, 10, 5}, {b, 0, 0}, {b, 40, 7}, {a, 0, 3}}, "2:1")->fingerprint());
}

}  // namespace
}  // namespace galvatron::store
