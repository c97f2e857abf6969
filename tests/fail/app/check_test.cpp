// What check answers when a deck cannot be played: which code, and whether a user can act on the text.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <regex>

#include "support/golden.hpp"
#include "support/program.hpp"

namespace galvatron {
namespace {

using test::Said;
using test::shell;

const std::string frozen_plan = "tests/golden/app/frozen/plan.toml";
const std::string check = "$G check tests/golden/app/frozen/deck.toml ";

void expect_text(const Said& said, int code, const std::vector<std::string>& patterns) {
  EXPECT_EQ(said.code, code) << said.text;
  for (const auto& pattern : patterns)
    EXPECT_TRUE(std::regex_search(said.text, std::regex(pattern))) << pattern << "\nis not in:\n"
                                                                   << said.text;
}

TEST(Check, NothingFitsNamesStageBytesAndWhatWasTried) {
  expect_text(shell(check + "cluster.memory='1 MiB'"), 4,
              {"no plan fits into 1.00 MiB a rank. The nearest miss is ",
               "stage [0-9]+ needs [0-9.]+ [KM]iB, [0-9.]+ [KM]iB too much", "parameters +[0-9.]+ ",
               "What would help, each tried alone:", "\n  fits: [0-9.]+ [KM]iB a rank \\(cluster.memory\\)",
               "\n  (fits|does not fit): a batch of 4 samples",
               "\n  (fits|does not fit): 8 ranks instead of 4", "RESULT verb=check ranks=4 exit=4\n"});
}

TEST(Check, APlanByHandThatDoesNotFitNamesStageBytesAndAWayOut) {
  expect_text(
      shell(check + "plan.tp=4 cluster.memory='129 MiB' search.batch=[64] plan.microbatches=1"), 4,
      {"the plan does not fit into 129 MiB a rank: stage 0 needs [0-9.]+ MiB, [0-9.]+ [KM]iB too much",
       "saved +[0-9.]+ ", "\n  fits: the plan that a search finds",
       "predicted_peak_bytes=[0-9]+ .*exit=4\n"});
}

TEST(Check, MoreRanksThanTheModelCanUse) {
  expect_text(shell(check + "cluster.nodes=61 cluster.ranks_per_node=61"), 4,
              {"no division of 3721 ranks is legal for this model:", "\n  [0-9]+ × axes: ",
               "RESULT verb=check ranks=3721 exit=4\n"});
}

TEST(Check, AWrongPlanByHandGivesAllItsFaults) {
  expect_text(shell(check + "cluster.nodes=1 cluster.ranks_per_node=3 plan.tp=3"), 2,
              {"the plan cannot be played:\n  ", "does not divide heads = 4", "does not divide ffn = 128",
               "layer 7 \\(head\\): ", "RESULT verb=check ranks=3 exit=2\n"});
}

TEST(Check, AWrongPlanFileGivesAllItsFaults) {
  std::string text = test::read_file(std::string(GALVATRON_SOURCE_DIR) + "/" + frozen_plan);
  text = std::regex_replace(text, std::regex("\nworld = "), "\nwrold = ");
  text = std::regex_replace(text, std::regex("zero = [0-9]"), "zero = 'all'");
  const std::string file = testing::TempDir() + "galvatron_wrong_plan_" + std::to_string(getpid()) + ".toml";
  std::ofstream(file) << text;
  expect_text(shell(check + "plan.file=" + file), 2,
              {"'world' is missing", "unknown key 'wrold' \\(did you mean 'world'\\?\\)",
               ":[0-9]+: \\[\\[layer\\]\\] zero must be an integer", "RESULT verb=check ranks=4 exit=2\n"});
  std::remove(file.c_str());
}

TEST(Check, APlanFileForOtherRanksIsRefused) {
  expect_text(shell(check + "plan.file=" + frozen_plan + " cluster.nodes=1"), 2,
              {"frozen/plan.toml:\n  the plan is for 4 ranks, but there are 2",
               "RESULT verb=check ranks=2 exit=2\n"});
}

TEST(Check, MissingDataIsOnlyAWarning) {
  expect_text(shell(check + "plan.tp=2"), 0,
              {"warning: data.train: 'no/such/folder/\\*.txt' matches no file"});
}

TEST(Check, ComputeOfThisMachineForADeckOfDevicesIsAWarning) {
  const std::string words = "run.device=cuda cluster.nodes=1 cluster.ranks_per_node=2 plan.tp=2 ";
  const std::string warning =
      "run.device = \"cuda\", but compute is measured on this machine's processor: name ";
  expect_text(shell("$G check inputs/tiny/gpt.toml " + words), 0, {warning, "RESULT verb=check .*exit=0\n"});
  const auto with_figures =
      shell("$G check inputs/tiny/gpt.toml " + words + "profile.file=inputs/clusters/dgx-h100.toml");
  expect_text(with_figures, 0, {"figures of inputs/clusters/dgx-h100.toml"});
  EXPECT_EQ(with_figures.text.find(warning), std::string::npos) << with_figures.text;
}

TEST(Check, AMissingOrWrongProfileIsAnError) {
  expect_text(shell(check + "profile.file=no/such.toml"), 2, {"no/such.toml: cannot be read"});
  expect_text(shell(check + "profile.file=README.md"), 2, {"README.md:[0-9]+: .*not TOML"});
}

// What check plans with, the verbs on ranks take too.
TEST(Search, TakesTheFiguresOfACluster) {
  const std::string out = testing::TempDir() + "galvatron_search_" + std::to_string(getpid());
  expect_text(
      shell("$G search tests/golden/app/frozen/deck.toml cluster.nodes=0 cluster.ranks_per_node=0 --out " +
            out),
      0, {"nominal.toml, not measured: every time is nominal", "RESULT verb=search .*exit=0\n"});
  EXPECT_EQ(shell("rm -rf " + out).code, 0);
}

}  // namespace
}  // namespace galvatron
