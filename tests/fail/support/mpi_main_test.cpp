// A failure on any rank must fail the job, be printed with its rank, and not be lost in a hang.
#include <gtest/gtest.h>

#include "support/program.hpp"

namespace galvatron {
namespace {

test::Said on_three_ranks(const std::string& filter, const std::string& timeout) {
  return test::shell(
      "GALVATRON_TEST_TIMEOUT=" + timeout +
      " timeout -k 5 90 mpirun --bind-to none -n 3 '" GALVATRON_PROBE "' --gtest_filter=" + filter);
}

TEST(MpiMain, AFailureOnOneRankFailsAllAndIsPrintedInRankOrder) {
  const auto said = on_three_ranks("OnSomeRanks.*", "60");
  EXPECT_EQ(said.code, 1) << said.text;
  const auto one = said.text.find("[rank 1 of 3]\n  OnSomeRanks.Fails at ");
  const auto two = said.text.find("[rank 2 of 3]\n  OnSomeRanks.Fails at ");
  EXPECT_NE(one, std::string::npos) << said.text;
  EXPECT_NE(two, std::string::npos) << said.text;
  EXPECT_LT(one, two);
  EXPECT_NE(said.text.find("no good on rank two"), std::string::npos) << said.text;
}

TEST(MpiMain, ASuccessIsASuccess) {
  const auto said = on_three_ranks("OnEveryRank.*", "60");
  EXPECT_EQ(said.code, 0) << said.text;
  EXPECT_EQ(said.text.find("[rank"), std::string::npos) << said.text;
}

TEST(MpiMain, AHangEndsAndTellsWhatWasKnown) {
  const auto said = on_three_ranks("OnOneRank.*", "2");
  EXPECT_EQ(said.code, 9) << said.text;
  EXPECT_NE(said.text.find("lost before the barrier"), std::string::npos) << said.text;
  EXPECT_NE(said.text.find("in test OnOneRank.DoesNotCome"), std::string::npos) << said.text;
}

}  // namespace
}  // namespace galvatron
