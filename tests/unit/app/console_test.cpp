// What the console shows, and to whom: nothing but text where nobody watches, everything in the log file.
#include "app/console.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "support/folder.hpp"

namespace galvatron::app {
namespace {

struct Streams {
  std::ostringstream out, err;
};

TEST(Console, AFileGetsNoBarAndNoColour) {
  Streams s;
  Console console(s.out, s.err, Verbosity::normal, Speaker::yes);
  console.bar(1, 2, "step");
  console.info("a line");
  console.warning("beware");
  console.end_bar();
  EXPECT_EQ(s.out.str(), "a line\n");
  EXPECT_EQ(s.err.str(), "warning: beware\n");
}

TEST(Console, ATerminalGetsABarThatTheNextLineTakesAway) {
  Streams s;
  {
    Console console(s.out, s.err, Verbosity::normal, Speaker::yes, {.bar = true, .colour = true});
    console.bar(1, 4, "step");
    console.info("a line");
    console.warning("beware");
    console.bar(2, 4, "step");
  }
  const std::string quarter = "[" + std::string(10, '#') + std::string(30, '.') + "] step 1/4";
  const std::string half = "[" + std::string(20, '#') + std::string(20, '.') + "] step 2/4";
  EXPECT_EQ(s.out.str(), "\r\x1b[K" + quarter + "\r\x1b[Ka line\n\r\x1b[K" + half + "\r\x1b[K");
  EXPECT_EQ(s.err.str(), "\x1b[33mwarning: \x1b[0mbeware\n");
}

TEST(Console, QuietAndSilentRanksShowNoBar) {
  Streams s;
  Console quiet(s.out, s.err, Verbosity::quiet, Speaker::yes, {.bar = true});
  quiet.bar(1, 2, "step");
  quiet.info("a line");
  Console other(s.out, s.err, Verbosity::normal, Speaker::no, {.bar = true});
  other.bar(1, 2, "step");
  EXPECT_EQ(s.out.str(), "");
}

TEST(Console, TheLogHasEverythingOfASilentRank) {
  const store::test::Folder folder;
  const auto file = folder.path() / "log" / "rank-3.log";
  Streams s;
  {
    Console console(s.out, s.err, Verbosity::quiet, Speaker::no);
    console.info("before");
    console.keep_log(file);
    console.info("a line");
    console.detail("a detail");
    console.warning("beware");
    console.error("broken");
  }
  std::ifstream in(file);
  std::vector<std::string> lines;
  for (std::string line; std::getline(in, line);) lines.push_back(line.substr(line.find("  ", 8) + 2));
  EXPECT_EQ(lines,
            (std::vector<std::string>{"a line", "detail: a detail", "warning: beware", "error: broken"}));
  EXPECT_EQ(s.out.str() + s.err.str(), "");
}

}  // namespace
}  // namespace galvatron::app
