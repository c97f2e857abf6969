// What galvatron show and check say, as a person reads it: of a frozen run folder, and of HDF5 files that the
// test makes. Sizes that depend on the machine's kernels are masked.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <regex>

#include "comm/world.hpp"
#include "store/checkpoint.hpp"
#include "store/profile_file.hpp"
#include "support/folder.hpp"
#include "support/golden.hpp"
#include "support/profiles.hpp"
#include "support/program.hpp"

namespace galvatron {
namespace {

namespace fs = std::filesystem;
using test::Said;
using test::shell;

const std::string frozen = "tests/golden/app/frozen/";

/// A folder of this test, removed at its end.
class Reports : public testing::Test {
 protected:
  std::string file(const std::string& name) const { return folder_.file(name); }

  /// Two tensors, of either floating type.
  std::string checkpoint() const {
    const auto path = file("step-000007.h5");
    const std::vector<store::TensorInfo> tensors = {{"model/table.weight", {2, 3}, core::DType::f32},
                                                    {"model/norm.bias", {4}, core::DType::f64}};
    std::vector<float> table = {1, -2, 2, 0, 0, 4};
    std::vector<double> bias = {1, 1, 1, 1};
    const std::vector<store::Piece> pieces = {{0, 0, 6, reinterpret_cast<std::byte*>(table.data())},
                                              {1, 0, 4, reinterpret_cast<std::byte*>(bias.data())}};
    store::CheckpointState state;
    state.step = 7;
    state.samples = 56;
    state.seed = 11;
    state.model_fingerprint = "0123456789abcdef";
    state.more["batch"] = "8";
    const auto alone = comm::make_dry_world(0, 1, 1);
    store::save_checkpoint(*alone, path, state, tensors, pieces, {});
    return path;
  }

 private:
  store::test::Folder folder_;
};

/// Bytes of work space depend on the instruction set; with them all sums that they are part of, and how many
/// choices are better than others in everything.
std::string without_sizes(std::string text) {
  text = std::regex_replace(text, std::regex(" +[0-9.]+ (B|KiB|MiB|GiB)\\b"), " SIZE");
  text = std::regex_replace(text, std::regex("cut [0-9]+ +choices"), "cut N choices");
  text = std::regex_replace(text, std::regex("[0-9]+ stage optima"), "N stage optima");
  return std::regex_replace(text, std::regex("predicted_peak_bytes=[0-9]+"), "predicted_peak_bytes=N");
}

void expect_said(const Said& said, const std::string& golden) {
  EXPECT_EQ(said.code, 0) << said.text;
  test::expect_golden("tests/golden/app/" + golden, said.text);
}

TEST_F(Reports, Deck) {
  expect_said(shell("$G show " + frozen + "deck.toml train.steps=50"), "show_deck.txt");
}

TEST_F(Reports, Plan) {
  expect_said(shell("$G show " + frozen + "plan.toml"), "show_plan.txt");
}

TEST_F(Reports, PlanWithoutItsDeckStandsAsItIs) {
  fs::copy(std::string(GALVATRON_SOURCE_DIR) + "/" + frozen + "plan.toml", file("plan.toml"));
  const Said said = shell("$G show " + file("plan.toml"));
  EXPECT_EQ(said.code, 0);
  EXPECT_NE(said.text.find("No deck.toml lies beside"), std::string::npos) << said.text;
  EXPECT_NE(said.text.find(test::read_file(file("plan.toml"))), std::string::npos) << said.text;
}

TEST_F(Reports, Space) {
  const Said of_plan = shell("$G show " + frozen + "plan.toml --space");
  expect_said(of_plan, "show_space.txt");
  EXPECT_EQ(shell("$G show " + frozen + "deck.toml --space").text, of_plan.text);
}

TEST_F(Reports, Cluster) {
  expect_said(shell("$G show inputs/clusters/nominal.toml"), "show_cluster.txt");
}

TEST_F(Reports, Profile) {
  auto profile = test::round_profile(1, 2);
  profile.hardware.links = {{0, 1, 1e-6, 1e9, 0.5e9}, {1, 0, 2e-6, 1e9, 0.5e9}};
  profile.hardware.hosts = {"host"};
  profile.hardware.gemm_flops = profile.hardware.memory_bytes_per_second = {1e9, 1e9};
  profile.hardware.conditions["date"] = "2000-01-01T00:00:00Z";
  profile.model.steps["norm f32 layernorm cols=32"].points = {{.x = 16, .seconds = 2e-6, .samples = 3},
                                                              {.x = 64, .seconds = 8e-6, .samples = 3}};
  profile.model.model_fingerprint = "0123456789abcdef";
  store::write_profile(file("profile.h5"), profile, {});
  expect_said(shell("$G show " + file("profile.h5")), "show_profile.txt");
}

TEST_F(Reports, Checkpoint) {
  expect_said(shell("$G show " + checkpoint()), "show_checkpoint.txt");
}

TEST_F(Reports, DamagedTensorsAreNamedAndTheRestIsShown) {
  const auto path = checkpoint();
  const std::string bytes = test::read_file(path);
  // Two neighbours: the bytes of one small number may also stand elsewhere in the file.
  const float values[] = {1, -2};
  const auto at = bytes.find(std::string(reinterpret_cast<const char*>(values), sizeof values));
  ASSERT_NE(at, std::string::npos);
  {
    std::fstream out(path, std::ios::in | std::ios::out | std::ios::binary);
    out.seekp(static_cast<int64_t>(at)).put('x');
  }
  const Said said = shell("$G show " + path);
  EXPECT_EQ(said.code, 6) << said.text;
  EXPECT_NE(said.text.find("DAMAGED: "), std::string::npos) << said.text;
  EXPECT_TRUE(std::regex_search(said.text, std::regex("model/table.weight .* damaged\n"))) << said.text;
  EXPECT_TRUE(std::regex_search(said.text, std::regex("model/norm.bias .* 2\n"))) << said.text;
}

TEST_F(Reports, UnknownKindsAreRefusedInOneLine) {
  std::ofstream(file("empty.h5"));
  std::ofstream(file("notes.txt")) << "just words\n";
  std::ofstream(file("tokens.bin"), std::ios::binary).write("\0\1\2\3", 4);
  std::ofstream(file("deck.toml")) << "[trian]\nsteps = 3\n";
  const std::pair<const char*, const char*> cases[] = {{"empty.h5", "is no HDF5 file of this program"},
                                                       {"notes.txt", "is no TOML file"},
                                                       {"tokens.bin", "is not text"},
                                                       {"nothing.toml", "cannot be read"},
                                                       {"deck.toml", "did you mean [train]?"}};
  for (const auto& [name, what] : cases) {
    const Said said = shell("$G show " + file(name));
    EXPECT_EQ(said.code, 2) << name << "\n" << said.text;
    EXPECT_NE(said.text.find(what), std::string::npos) << name << "\n" << said.text;
    EXPECT_EQ(std::count(said.text.begin(), said.text.end(), '\n'), 1) << name << "\n" << said.text;
  }
  EXPECT_EQ(shell("$G show inputs/clusters/nominal.toml --space").code, 2);
  EXPECT_EQ(shell("$G show " + frozen + "plan.toml train.steps=3").code, 2);
}

TEST_F(Reports, CheckSearches) {
  Said said = shell("$G check " + frozen + "deck.toml");
  said.text = without_sizes(said.text);
  expect_said(said, "check_search.txt");
}

TEST_F(Reports, CheckPricesThePlanOfTheDeck) {
  Said said = shell("$G check " + frozen + "deck.toml plan.pp=2 plan.tp=2");
  said.text = without_sizes(said.text);
  expect_said(said, "check_by_hand.txt");
  said = shell("$G check " + frozen + "deck.toml plan.file=" + frozen + "plan.toml");
  EXPECT_EQ(said.code, 0) << said.text;
  EXPECT_NE(said.text.find("RESULT verb=check ranks=4 predicted_step_s="), std::string::npos) << said.text;
}

}  // namespace
}  // namespace galvatron
