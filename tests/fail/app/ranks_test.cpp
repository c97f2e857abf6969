// Each row of the table of errors across ranks, provoked: exactly one message, the documented exit code,
// seconds and not minutes.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "support/program.hpp"

namespace galvatron {
namespace {

using test::Said;

class AcrossRanks : public testing::Test {
 protected:
  AcrossRanks() {
    std::filesystem::create_directories(folder_);
    std::ofstream(folder_ / "deck.toml") << "[train]\nsteps = 30\n[run]\nwatchdog = 60.0\n";
    std::ofstream(folder_ / "wrong.toml") << "[train]\nstepz = 30\n";
  }
  ~AcrossRanks() override { std::filesystem::remove_all(folder_); }

  /// The probe's answer on three ranks. It must come within a minute and a half, on a busy machine too.
  Said on_three_ranks(const std::string& words) const {
    return test::shell("timeout -k 5 90 mpirun --bind-to none -n 3 '" GALVATRON_PROBE "' " + words +
                       " --out '" + folder_.string() + "'");
  }
  std::string deck(const std::string& name) const { return "'" + (folder_ / name).string() + "'"; }

  static int64_t count(const Said& said, const std::string& what) {
    int64_t n = 0;
    for (size_t at = said.text.find(what); at != std::string::npos; at = said.text.find(what, at + 1)) ++n;
    return n;
  }

  std::filesystem::path folder_ =
      std::filesystem::path(testing::TempDir()) / ("galvatron_ranks_" + std::to_string(getpid()));
};

TEST_F(AcrossRanks, AVerbThatSucceedsSpeaksOnce) {
  const Said said = on_three_ranks("fine " + deck("deck.toml") + " train.steps=7");
  EXPECT_EQ(said.code, 0) << said.text;
  EXPECT_EQ(said.text, "all is well\nRESULT verb=fine ranks=3 steps=7 exit=0\n");
}

TEST_F(AcrossRanks, AWrongDeckIsReportedOnce) {
  const Said said = on_three_ranks("fine " + deck("wrong.toml") + " train.lr=-1 --nope");
  EXPECT_EQ(said.code, 2) << said.text;
  for (const char* line : {"wrong.toml:2: [train] unknown key 'stepz' (did you mean 'steps'?)\n",
                           "command line: [train] lr = -1 must be above 0\n", "unknown option '--nope'",
                           "RESULT verb=fine exit=2\n"}) {
    EXPECT_EQ(count(said, line), 1) << line << "\nin:\n" << said.text;
  }
}

TEST_F(AcrossRanks, AMissingDeckIsReportedOnce) {
  const Said said = on_three_ranks("fine no/such/deck.toml");
  EXPECT_EQ(said.code, 2) << said.text;
  EXPECT_EQ(count(said, "no/such/deck.toml: cannot be read\n"), 1) << said.text;
}

TEST_F(AcrossRanks, AnUnknownVerbIsReportedOnceWithoutMpi) {
  const Said said = on_three_ranks("fin x.toml");
  EXPECT_EQ(said.code, 2) << said.text;
  EXPECT_EQ(count(said, "unknown verb 'fin' (did you mean 'fine'?)"), 1) << said.text;
}

TEST_F(AcrossRanks, AFailureOfAllRanksNamesNone) {
  const Said said = on_three_ranks("all " + deck("deck.toml"));
  EXPECT_EQ(said.code, 5) << said.text;
  EXPECT_EQ(count(said, "there is no text in it"), 1) << said.text;
  EXPECT_EQ(count(said, "RESULT verb=all exit=5\n"), 1) << said.text;
  EXPECT_EQ(count(said, "rank 0"), 0) << said.text;
}

TEST_F(AcrossRanks, AFailureOfOneRankAtAMeetingPointNamesIt) {
  const Said said = on_three_ranks("one " + deck("deck.toml"));
  EXPECT_EQ(said.code, 8) << said.text;
  EXPECT_EQ(count(said, "no room for 3 GiB"), 1) << said.text;
  EXPECT_EQ(count(said, "rank 1 on "), 1) << said.text;
  EXPECT_EQ(count(said, "RESULT verb=one exit=8\n"), 1) << said.text;
}

TEST_F(AcrossRanks, AFailureAmongCommunicationEndsTheJobAndLeavesAReport) {
  const Said said = on_three_ranks("lone " + deck("deck.toml"));
  EXPECT_EQ(said.code, 7) << said.text;
  EXPECT_GE(count(said, "the loss is not finite"), 1) << said.text;
  EXPECT_LE(count(said, "the loss is not finite"), 2) << "one line of each failing rank at most\n"
                                                      << said.text;
  EXPECT_TRUE(std::filesystem::exists(folder_ / "failure.txt"));
}

TEST_F(AcrossRanks, AHangIsNoticedAndTheOddOneOutIsNamed) {
  const Said said = on_three_ranks("hang " + deck("deck.toml") + " run.watchdog=2");
  EXPECT_EQ(said.code, 9) << said.text;
  EXPECT_EQ(count(said, "dreaming"), 1) << said.text;
}

}  // namespace
}  // namespace galvatron
