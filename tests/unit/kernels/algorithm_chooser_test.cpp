// Which algorithm a call gets: a pure decision on texts and seconds.
#include "kernels/algorithm_chooser.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace galvatron::kernels {
namespace {

using Mode = AlgorithmChooser::Mode;

AlgorithmBytes algorithm_number(int number) {
  AlgorithmBytes algorithm{};
  for (size_t i = 0; i < algorithm.size(); ++i)
    algorithm[i] = static_cast<std::byte>(number + 7 * static_cast<int>(i));
  return algorithm;
}

const std::vector<std::string> candidates = {"first", "second", "third"};

double never(size_t) {
  ADD_FAILURE() << "measured what was not to be measured";
  return 0;
}

TEST(Hex, ComesBackAsItWas) {
  for (const int number : {0, 1, 200})
    EXPECT_EQ(algorithm_of(hex_of(algorithm_number(number))), algorithm_number(number));
  EXPECT_EQ(hex_of(AlgorithmBytes{}), std::string(128, '0'));
  const auto good = hex_of(algorithm_number(5));
  for (const auto& bad :
       {std::string(), good + "00", good.substr(2), "g" + good.substr(1), " " + good.substr(1)})
    EXPECT_EQ(algorithm_of(bad), std::nullopt) << bad;
}

TEST(AlgorithmChooser, TakesTheFirstWhereNothingIsKnown) {
  AlgorithmChooser chooser("lib 1", "device");
  EXPECT_EQ(chooser.wanted(), 1);
  EXPECT_EQ(chooser.choose("call", candidates, never), 0U);
  EXPECT_EQ(chooser.kept("call"), std::nullopt) << "nobody measured that it is the best";
}

TEST(AlgorithmChooser, KeepsTheFastest) {
  AlgorithmChooser chooser("lib 1", "device");
  chooser.set_mode(Mode::measured);
  EXPECT_EQ(chooser.wanted(), AlgorithmChooser::most_candidates);
  const std::vector<double> seconds = {3, 1, 2};
  EXPECT_EQ(chooser.choose("call", candidates, [&](size_t i) { return seconds[i]; }), 1U);
  EXPECT_EQ(chooser.kept("call"), candidates[1]);
  EXPECT_EQ(chooser.choose("equal", candidates, [](size_t) { return 1.0; }), 0U);
  EXPECT_EQ(chooser.choose("one", std::span(candidates).first(1), never), 0U) << "no choice, no measurement";
  EXPECT_EQ(chooser.kept("one"), candidates[0]);
  EXPECT_EQ(chooser.choices().algorithms.size(), 3U);
}

TEST(AlgorithmChooser, UsesWhatAProfileKeepsForItsLibraryAndDevice) {
  AlgorithmChooser measuring("lib 1", "device");
  measuring.set_mode(Mode::measured);
  measuring.choose("call", candidates, [](size_t i) { return i == 2 ? 1.0 : 2.0; });
  AlgorithmChooser training("lib 1", "device");
  EXPECT_EQ(training.use(measuring.choices()), 1);
  EXPECT_EQ(training.kept("call"), candidates[2]);
  EXPECT_EQ(training.kept("another"), std::nullopt);
  for (auto other : {AlgorithmChooser("lib 2", "device"), AlgorithmChooser("lib 1", "another device")}) {
    EXPECT_EQ(other.use(measuring.choices()), 0);
    EXPECT_EQ(other.kept("call"), std::nullopt);
  }
}

}  // namespace
}  // namespace galvatron::kernels
