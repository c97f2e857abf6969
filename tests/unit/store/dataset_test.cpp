// Every window once per epoch, in an order that follows from the seed alone; and the baseline against a slow
// count.
#include "store/dataset.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <numeric>
#include <set>

#include "core/errors.hpp"
#include "core/random.hpp"
#include "store/text_dataset.hpp"

namespace galvatron::store {
namespace {

TEST(SampleOrder, EveryWindowOncePerEpoch) {
  for (const int64_t windows : {1, 2, 3, 4, 5, 7, 16, 17, 100, 1023, 1025}) {
    const int64_t seq = 6;
    const SampleOrder order(42, windows * 7 + 3, seq, "text");
    ASSERT_EQ(order.windows(), windows);
    for (int64_t epoch = 0; epoch < 3; ++epoch) {
      std::set<int64_t> seen;
      for (int64_t i = 0; i < windows; ++i) {
        const auto offset = order.offset_of(epoch * windows + i);
        ASSERT_EQ(offset % 7, 0) << windows << " windows, epoch " << epoch << ", sample " << i;
        ASSERT_GE(offset, 0);
        ASSERT_LE(offset + 7, windows * 7 + 3);
        ASSERT_TRUE(seen.insert(offset).second)
            << "window " << offset / 7 << " of " << windows << " comes twice in epoch " << epoch;
      }
    }
  }
}

TEST(SampleOrder, EpochsAndSeedsDiffer) {
  const int64_t windows = 1000;
  const SampleOrder order(1, windows * 3, 2, "text");
  const SampleOrder again(1, windows * 3, 2, "text");
  const SampleOrder other(2, windows * 3, 2, "text");
  int64_t same_epoch = 0;
  int64_t same_seed = 0;
  int64_t in_place = 0;
  for (int64_t i = 0; i < windows; ++i) {
    ASSERT_EQ(order.offset_of(i), again.offset_of(i));
    same_epoch += order.offset_of(i) == order.offset_of(windows + i) ? 1 : 0;
    same_seed += order.offset_of(i) == other.offset_of(i) ? 1 : 0;
    in_place += order.offset_of(i) == i * 3 ? 1 : 0;
  }
  // A random permutation has one fixed point on average; ten and more have a chance of 1e-7.
  EXPECT_LT(same_epoch, 10);
  EXPECT_LT(same_seed, 10);
  EXPECT_LT(in_place, 10);
}

TEST(SampleOrder, NeighboursAreUnrelated) {
  const int64_t windows = 10'000;
  const SampleOrder order(3, windows * 2, 1, "text");
  double products = 0.0;
  double squares = 0.0;
  const double mean = static_cast<double>(windows - 1) / 2.0;
  for (int64_t i = 0; i + 1 < windows; ++i) {
    const double a = static_cast<double>(order.offset_of(i)) / 2.0 - mean;
    const double b = static_cast<double>(order.offset_of(i + 1)) / 2.0 - mean;
    products += a * b;
    squares += a * a;
  }
  EXPECT_NEAR(products / squares, 0.0, 0.05);  // five standard errors
}

TEST(SampleOrder, ATextShorterThanASampleIsRefused) {
  try {
    const SampleOrder order(1, 256, 256, "data.train");
    ADD_FAILURE() << "no error";
  } catch (const core::UserError& error) {
    EXPECT_EQ(error.code(), core::ExitCode::data);
    EXPECT_STREQ(error.what(), "data.train has 256 tokens; one sample needs seq + 1 = 257");
  }
}

TEST(Synthetic, TokensFollowFromTheirPlace) {
  const auto data = make_synthetic_dataset(5, "train", 1000, 17);
  std::vector<int32_t> all(1000);
  data->read(0, all);
  std::set<int32_t> seen(all.begin(), all.end());
  EXPECT_EQ(*seen.begin(), 0);
  EXPECT_EQ(*seen.rbegin(), 16);
  std::vector<int32_t> part(10);
  data->read(990, part);
  for (size_t i = 0; i < part.size(); ++i) EXPECT_EQ(part[i], all[990 + i]) << "token " << 990 + i;
  EXPECT_THROW(data->read(991, part), core::InternalError);
  EXPECT_NE(data->fingerprint(), make_synthetic_dataset(5, "valid", 1000, 17)->fingerprint());
}

/// The definition, written down again with maps.
double slow_bigram(const std::string& train, const std::string& valid, size_t seq, size_t windows) {
  std::map<std::pair<char, char>, double> pairs;
  std::map<char, double> firsts;
  std::map<char, double> singles;
  std::map<char, std::set<char>> followers;
  for (size_t i = 0; i < train.size(); ++i) {
    ++singles[train[i]];
    if (i == 0) continue;
    ++pairs[{train[i - 1], train[i]}];
    ++firsts[train[i - 1]];
    followers[train[i - 1]].insert(train[i]);
  }
  double sum = 0.0;
  for (size_t w = 0; w < windows; ++w) {
    for (size_t i = w * (seq + 1); i < w * (seq + 1) + seq; ++i) {
      const char a = valid[i];
      const char b = valid[i + 1];
      const double single = (singles[b] + 1.0) / (static_cast<double>(train.size()) + 256.0);
      const auto distinct = static_cast<double>(followers[a].size());
      sum -=
          std::log(firsts[a] == 0.0 ? single : (pairs[{a, b}] + distinct * single) / (firsts[a] + distinct));
    }
  }
  return sum / static_cast<double>(windows * seq);
}

TEST(Bigram, EqualsTheDefinition) {
  std::string train;
  for (uint64_t i = 0; i < 70'000; ++i)
    train += static_cast<char>('a' + core::uniform_below(1, i, 1 + i % 20));
  std::string valid;
  for (uint64_t i = 0; i < 1000; ++i)
    valid += static_cast<char>('a' + core::uniform_below(2, i, 26));  // some unseen
  for (const auto& [seq, windows] : {std::pair<size_t, size_t>{1, 500}, {9, 100}, {9, 3}, {999, 1}}) {
    const auto loss = bigram_loss(*make_text_dataset(train), *make_text_dataset(valid),
                                  static_cast<int64_t>(seq), static_cast<int64_t>(windows));
    EXPECT_NEAR(loss, slow_bigram(train, valid, seq, windows), 1e-12)
        << "seq " << seq << ", " << windows << " windows";
  }
}

TEST(Bigram, ProbabilitiesAddUpToOne) {
  const auto train = make_text_dataset("abracadabra");
  for (const char before : {'a', 'b', 'z'}) {
    double sum = 0.0;
    for (int token = 0; token < 256; ++token) {
      const auto pair = make_text_dataset(std::string{before, static_cast<char>(token)});
      sum += std::exp(-bigram_loss(*train, *pair, 1, 1));
    }
    EXPECT_NEAR(sum, 1.0, 1e-12) << "after '" << before << "'";
  }
}

}  // namespace
}  // namespace galvatron::store
