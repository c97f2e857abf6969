// What the program answers to wrong words: all problems, one RESULT line, exit code 2; and to right ones.
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>

#include "support/golden.hpp"
#include "support/program.hpp"

namespace galvatron {
namespace {

using test::Said;
using test::shell;

/// A deck of this test's own folder.
std::string deck_file(const std::string& name, const std::string& text) {
  const std::string path = testing::TempDir() + "galvatron_" + std::to_string(getpid()) + "_" + name;
  std::ofstream(path) << text;
  return path;
}

int64_t count(const std::string& text, const std::string& what) {
  int64_t n = 0;
  for (size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) ++n;
  return n;
}

TEST(CommandLine, ManualIsThePageInTheDocs) {
  const Said said = shell("$G manual");
  EXPECT_EQ(said.code, 0);
  EXPECT_TRUE(said.text == test::read_file(std::string(GALVATRON_SOURCE_DIR) + "/docs/deck.md"))
      << "docs/deck.md is not the output of galvatron manual";
}

TEST(CommandLine, VersionAndHelpWork) {
  EXPECT_EQ(shell("$G --version").text.substr(0, 10), "galvatron ");
  EXPECT_EQ(
      shell("$G --version --json | python3 -c 'import json,sys; print(json.load(sys.stdin)[\"version\"][0])'")
          .text,
      "0\n");
  EXPECT_NE(shell("$G --help").text.find("Verbs:\n"), std::string::npos);
  EXPECT_NE(shell("$G check --help").text.find("DECK"), std::string::npos);
}

TEST(CommandLine, WrongWordsGiveExitCodeTwoAndOneResultLine) {
  for (const char* words : {"chekc x.toml", "check", "check no/such/deck.toml", "check docs", "manual x",
                            "--what", "", "check x.toml --out"}) {
    const Said said = shell(std::string("$G ") + words);
    EXPECT_EQ(said.code, 2) << words << "\n" << said.text;
    EXPECT_EQ(count(said.text, "RESULT ") + (std::string(words).find("manual") == 0), 1) << words << "\n"
                                                                                         << said.text;
    EXPECT_GT(said.text.size(), 30U) << words << "\n" << said.text;
  }
}

TEST(CommandLine, ProblemsOfDeckAndWordsComeTogether) {
  const std::string deck = deck_file("wrong.toml", "[train]\nstepz = 3\n[model]\nheads = 7\n");
  const Said said = shell("$G check " + deck + " train.lr=-1 --nope");
  EXPECT_EQ(said.code, 2);
  for (const char* part :
       {":2: [train] unknown key 'stepz' (did you mean 'steps'?)", ":4: [model] heads = 7",
        "command line: [train] lr = -1", "unknown option '--nope'", "RESULT verb=check exit=2\n"}) {
    EXPECT_EQ(count(said.text, part), 1) << part << "\nin:\n" << said.text;
  }
  std::remove(deck.c_str());
}

TEST(CommandLine, ARightDeckIsRight) {
  const std::string deck = deck_file("right.toml", "[train]\nsteps = 3\n");
  const Said said = shell("$G check " + deck);
  EXPECT_EQ(said.code, 0) << said.text;
  EXPECT_NE(said.text.find("RESULT verb=check"), std::string::npos) << said.text;
  std::remove(deck.c_str());
}

}  // namespace
}  // namespace galvatron
