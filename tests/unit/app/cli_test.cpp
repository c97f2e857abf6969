// The words of the command line land where they belong.
#include "app/cli.hpp"

#include <gtest/gtest.h>

namespace galvatron::app {
namespace {

TEST(CommandLine, SortsVerbDeckOverridesAndOptions) {
  const CommandLine line = parse_command_line({"run", "a.toml", "train.lr=1", "--out", "x y", "train.steps=2",
                                               "--resume", "never", "--overwrite", "--quiet"});
  EXPECT_TRUE(line.problems.empty());
  EXPECT_EQ(line.verb, "run");
  EXPECT_EQ(line.file, "a.toml");
  EXPECT_EQ(line.overrides, (std::vector<std::string>{"train.lr=1", "train.steps=2", "run.out=\"x y\"",
                                                      "train.resume=\"never\""}));
  EXPECT_TRUE(line.overwrite);
  EXPECT_EQ(line.verbosity, Verbosity::quiet);
}

TEST(CommandLine, OptionsMayStandAnywhere) {
  const CommandLine line = parse_command_line({"--verbose", "check", "--out=o", "a.toml"});
  EXPECT_EQ(line.verb, "check");
  EXPECT_EQ(line.file, "a.toml");
  EXPECT_EQ(line.verbosity, Verbosity::verbose);
  EXPECT_EQ(line.overrides, std::vector<std::string>{"run.out=\"o\""});
}

TEST(CommandLine, KnowsTheDocuments) {
  EXPECT_EQ(parse_command_line({"--version"}).version, VersionForm::text);
  EXPECT_EQ(parse_command_line({"--version", "--json"}).version, VersionForm::json);
  EXPECT_TRUE(parse_command_line({"run", "--help"}).help);
}

TEST(CommandLine, ReportsWhatItDoesNotUnderstandAndKeepsTheRest) {
  const CommandLine line = parse_command_line({"run", "a.toml", "--fast", "b.toml"});
  EXPECT_EQ(line.verb, "run");
  EXPECT_EQ(line.file, "a.toml");
  ASSERT_EQ(line.problems.size(), 2U);
  EXPECT_NE(line.problems[0].find("--fast"), std::string::npos) << line.problems[0];
  EXPECT_EQ(parse_command_line({"run", "a.toml", "b.toml"}).problems,
            std::vector<std::string>{"command line: 'b.toml' is neither an option nor section.key=VALUE"});
  EXPECT_EQ(parse_command_line({"run", "a.toml", "--out"}).problems.size(), 1U);
  EXPECT_EQ(parse_command_line({"run", "a.toml", "--quiet", "--verbose"}).problems.size(), 1U);
  EXPECT_EQ(parse_command_line({"run", "a.toml", "--json"}).problems.size(), 1U);
}

}  // namespace
}  // namespace galvatron::app
