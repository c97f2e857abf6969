// Dynamic loss scaling, step by step.
#include <gtest/gtest.h>

#include "runtime/loss_scale.hpp"

namespace galvatron::runtime {
namespace {

deck::TrainSection fp16() {
  deck::TrainSection train;
  train.precision = "fp16";
  train.loss_scale = 1024;
  train.loss_scale_growth = 3;
  return train;
}

LossScale after(LossScale scale, const std::vector<Overflow>& steps, const deck::TrainSection& train) {
  for (const auto overflow : steps) scale = after_step(scale, overflow, train);
  return scale;
}

constexpr auto good = Overflow::none, bad = Overflow::found;

TEST(LossScale, IsOneAndStaysSoInOtherPrecisions) {
  for (const char* precision : {"fp32", "bf16", "fp64"}) {
    auto train = fp16();
    train.precision = precision;
    EXPECT_FALSE(scales_loss(train));
    EXPECT_EQ(after(initial_loss_scale(train), {bad, good, good, good}, train), LossScale{}) << precision;
  }
}

TEST(LossScale, HalvesAtOnceAndDoublesAfterEnoughGoodSteps) {
  const auto train = fp16();
  const auto start = initial_loss_scale(train);
  EXPECT_EQ(start.factor, 1024);
  EXPECT_EQ(after(start, {good, good}, train).factor, 1024);
  EXPECT_EQ(after(start, {good, good, good}, train).factor, 2048);
  EXPECT_EQ(after(start, {good, good, bad}, train).factor, 512);
  EXPECT_EQ(after(start, {good, good, bad, good, good}, train).factor, 512)
      << "an overflow starts the count again";
}

TEST(LossScale, CountsSkippedSteps) {
  const auto train = fp16();
  const auto scale = after(initial_loss_scale(train), {bad, bad, good, bad}, train);
  EXPECT_EQ(scale.skipped_in_a_row, 1);
  EXPECT_EQ(scale.skipped, 3);
}

TEST(LossScale, StaysBetweenOneAndTwoToThe24) {
  const auto train = fp16();
  EXPECT_EQ(after(initial_loss_scale(train), std::vector(40, bad), train).factor, 1);
  EXPECT_EQ(after(initial_loss_scale(train), std::vector(200, good), train).factor, 1 << 24);
}

}  // namespace
}  // namespace galvatron::runtime
