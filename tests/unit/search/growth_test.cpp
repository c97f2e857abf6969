// search.batch = "max": growth ends where nothing fits or where it no longer pays, and begins where something
// fits.
#include "search/growth.hpp"

#include <gtest/gtest.h>

namespace galvatron::search {
namespace {

/// `overhead` seconds a step and one second a sample, up to `most` samples.
RateOfBatch machine(double overhead, int64_t most) {
  return [=](int64_t batch) -> std::optional<double> {
    if (batch > most) return std::nullopt;
    return static_cast<double>(batch) / (overhead + static_cast<double>(batch));
  };
}

TEST(Growth, EndsWhereNothingFits) {
  EXPECT_EQ(growing_batches(4, machine(1000, 24)), (std::vector<int64_t>{4, 6, 8, 12, 16, 24}));
  EXPECT_EQ(growing_batches(3, machine(1000, 10)), (std::vector<int64_t>{3, 6, 9}));
}

TEST(Growth, EndsWhereADoublingBringsLessThanOnePercent) {
  const auto batches = growing_batches(8, machine(10, 1 << 30));
  const auto rate = machine(10, 1 << 30);
  EXPECT_LT(*rate(batches.back()), 1.01 * *rate(batches.back() / 2));
  for (const int64_t batch : batches)
    if (batch > 8 && batch < batches.back() && batch % 16 == 0) {
      EXPECT_GE(*rate(batch), 1.01 * *rate(batch / 2)) << batch << " did not pay and growth went on";
    }
}

TEST(Growth, BeginsWithFewerSamplesThanRanksWhereThoseDoNotFit) {
  EXPECT_EQ(growing_batches(16, machine(1000, 5)), (std::vector<int64_t>{4}));
  EXPECT_EQ(growing_batches(16, machine(1000, 7)), (std::vector<int64_t>{4, 6}));
  EXPECT_EQ(growing_batches(5, machine(1000, 1)), (std::vector<int64_t>{1}));
}

TEST(Growth, NothingFits) {
  EXPECT_EQ(growing_batches(6, machine(1, 0)), (std::vector<int64_t>{1}));
}

TEST(Growth, ADipDoesNotEndIt) {
  const auto dip = [](int64_t batch) -> std::optional<double> {
    if (batch > 64) return std::nullopt;
    return batch == 16 ? 1.0 : static_cast<double>(batch);
  };
  EXPECT_EQ(growing_batches(8, dip).back(), 64);
}

}  // namespace
}  // namespace galvatron::search
