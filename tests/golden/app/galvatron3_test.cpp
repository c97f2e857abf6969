// The rules, profiles and strategy files of the Python Galvatron 3.0 as a user meets them.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "support/folder.hpp"
#include "support/golden.hpp"
#include "support/program.hpp"

namespace galvatron {
namespace {

namespace fs = std::filesystem;
using test::Said;
using test::shell;

const std::string figures = "tests/golden/galvatron3/";
const std::string deck = figures + "llama2-7b.toml";
const std::string example =
    figures + "a100_8/galvatron_config_llama2-7b_1nodes_8gpus_per_node_36GB_bf16.json";

class Galvatron3 : public testing::Test {
 protected:
  std::string file(const std::string& name) const { return folder_.file(name); }

 private:
  store::test::Folder folder_;
};

TEST_F(Galvatron3, CheckSearchesByItsRules) {
  const Said said = shell("$G check " + deck);
  EXPECT_EQ(said.code, 0) << said.text;
  test::expect_golden("tests/golden/app/check_galvatron3.txt", said.text);
}

TEST_F(Galvatron3, NothingFitsIsExitCodeFour) {
  const Said said = shell("$G check " + deck + " 'cluster.memory=4 GiB'");
  EXPECT_EQ(said.code, 4) << said.text;
  EXPECT_NE(said.text.find("nothing fits: the nearest miss is "), std::string::npos) << said.text;
  EXPECT_EQ(shell("$G check " + deck + " galvatron.chunks=3").code, 4);
}

TEST_F(Galvatron3, MissingFilesAreNamed) {
  Said said = shell("$G check " + deck + " galvatron.p2p='' galvatron.memory=''");
  EXPECT_EQ(said.code, 2) << said.text;
  EXPECT_NE(said.text.find("rules = \"galvatron-3.0\" needs the file galvatron.p2p\n"), std::string::npos)
      << said.text;
  EXPECT_NE(said.text.find("needs the file galvatron.memory\n"), std::string::npos) << said.text;
  said = shell("$G check " + deck + " galvatron.p2p=" + figures + "a100_8/overlap_coefficient.json -q");
  EXPECT_EQ(said.code, 2) << said.text;
  EXPECT_NE(said.text.find("a100_8/overlap_coefficient.json: key 'pp_size_2' is missing\n"),
            std::string::npos)
      << said.text;
}

TEST_F(Galvatron3, StrategyFilesBecomePlansAndBack) {
  const auto convert = [](const std::string& from, const std::string& to) {
    return shell("$G convert plan " + from + " " + deck + " --out " + to);
  };
  Said said = convert(example, file("plan.toml"));
  ASSERT_EQ(said.code, 0) << said.text;
  EXPECT_NE(said.text.find("RESULT verb=convert ranks=8 batch=16 exit=0\n"), std::string::npos) << said.text;
  ASSERT_EQ(convert(file("plan.toml"), file("again.json")).code, 0);
  ASSERT_EQ(convert(file("again.json"), file("again.toml")).code, 0);
  EXPECT_EQ(test::read_file(file("plan.toml")), test::read_file(file("again.toml")));
  said = convert(example, file("plan.toml"));
  EXPECT_EQ(said.code, 2) << said.text;
  EXPECT_NE(said.text.find("plan.toml exists; --overwrite replaces it\n"), std::string::npos) << said.text;
  // A deck beside the plan needs no naming.
  fs::copy(std::string(GALVATRON_SOURCE_DIR) + "/" + deck, file("deck.toml"));
  EXPECT_EQ(shell("$G convert plan " + file("again.json") + " --out " + file("third.toml")).code, 0);
  EXPECT_EQ(shell("$G show " + file("again.json")).text, shell("$G show " + file("plan.toml")).text);
}

TEST_F(Galvatron3, ConvertSaysWhatIsMissing) {
  Said said = shell("$G convert plan " + example + " --out " + file("plan.txt"));
  EXPECT_EQ(said.code, 2) << said.text;
  EXPECT_NE(said.text.find("plan.txt: .toml for a plan, .json for a strategy file"), std::string::npos)
      << said.text;
  said = shell("$G convert plan " + example + " --out " + file("plan.toml"));
  EXPECT_NE(said.text.find("name a deck behind the plan\n"), std::string::npos) << said.text;
  said = shell("$G convert plans x");
  EXPECT_NE(said.text.find("convert makes tokens or plans"), std::string::npos) << said.text;
}

/// The same on ranks: plan.toml and its strategy file lie in the run folder.
TEST_F(Galvatron3, SearchOnRanksWritesBoth) {
  const Said said =
      shell("timeout -k 5 50 mpirun -n 2 --bind-to none $G search " + deck +
            " cluster.nodes=0 cluster.ranks_per_node=0 'cluster.memory=400 GiB' --out " + file("run"));
  ASSERT_EQ(said.code, 0) << said.text;
  EXPECT_NE(said.text.find("samples/s"), std::string::npos) << said.text;
  EXPECT_EQ(shell("$G convert plan " + file("run/strategy.json") + " --out " + file("run/again.json")).code,
            0);
  EXPECT_EQ(test::read_file(file("run/strategy.json")), test::read_file(file("run/again.json")));
  EXPECT_NE(test::read_file(file("run/plan.toml")).find("world = 2"), std::string::npos);
}

}  // namespace
}  // namespace galvatron
