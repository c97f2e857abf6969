// Two queues against the clock, by hand.
#include "cost/two_streams.hpp"

#include <gtest/gtest.h>

#include <array>

namespace galvatron::cost {
namespace {

TEST(TwoStreams, HidesWhatFits) {
  const std::array talks = {Talk{2, 1, 1}, Talk{3, 1, 1}};
  EXPECT_DOUBLE_EQ(beside(8, talks).now(), 8);
  EXPECT_DOUBLE_EQ(beside(8, talks).waited(), 0);
  EXPECT_DOUBLE_EQ(beside(4, talks).now(), 5);
  EXPECT_DOUBLE_EQ(beside(4, talks).waited(), 1);
  EXPECT_DOUBLE_EQ(beside(4, {}).now(), 4);
  EXPECT_DOUBLE_EQ(beside(0, talks).now(), 5);
}

TEST(TwoStreams, SlowsBothWhileBothAreBusy) {
  // Both run at half speed: 2 s of talk take 4 s, in which 2 s of compute are done; 6 s are left.
  const std::array half = {Talk{2, 2, 2}};
  EXPECT_DOUBLE_EQ(beside(8, half).now(), 10);
  EXPECT_DOUBLE_EQ(beside(8, half).slowed(), 2);
  // Compute is over first, after 2 s; 1 s of talk is left and runs alone.
  EXPECT_DOUBLE_EQ(beside(1, half).now(), 3);
  EXPECT_DOUBLE_EQ(beside(1, half).waited(), 1);
  EXPECT_DOUBLE_EQ(beside(1, half).slowed(), 1);
}

TEST(TwoStreams, WaitsForTheOneThatIsAskedFor) {
  TwoStreams streams;
  const auto first = streams.start({3, 1, 1});
  streams.compute(1);
  streams.wait(first);
  EXPECT_DOUBLE_EQ(streams.now(), 3);
  const auto second = streams.start({1, 1, 1});
  streams.compute(5);
  streams.wait(second);
  EXPECT_DOUBLE_EQ(streams.now(), 8);
  EXPECT_DOUBLE_EQ(streams.waited(), 2);
}

TEST(TwoStreams, NeverBeatsTheLongerNorLosesToTheSumWithoutHarm) {
  for (int compute = 0; compute < 6; ++compute)
    for (int talk = 0; talk < 6; ++talk) {
      const std::array talks = {Talk{talk * 1.0, 1.3, 1.6}};
      const double seconds = beside(compute, talks).now();
      EXPECT_GE(seconds, std::max(compute, talk));
      const std::array harmless = {Talk{talk * 1.0, 1, 1}};
      EXPECT_DOUBLE_EQ(beside(compute, harmless).now(), std::max(compute, talk));
    }
}

TEST(TwoStreams, NeverTakeLongerThanOneAfterTheOther) {
  // As measured with four ranks on two cores.
  for (const Talk& talk : {Talk{2, 5, 343}, Talk{2, 1.1, 40}, Talk{2, 30, 1.01}, Talk{2, 3, 3}})
    for (const double compute : {0.5, 2.0, 20.0}) {
      const std::array talks = {talk};
      EXPECT_LE(beside(compute, talks).now(), compute + talk.seconds + 1e-12)
          << compute << " s beside factors " << talk.compute_factor << ", " << talk.talk_factor;
    }
}

}  // namespace
}  // namespace galvatron::cost
