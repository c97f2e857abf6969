// The best path of one pipeline rank against the full product of options on random small instances, and laws
// that must hold on large ones.
#include "search/path.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "support/paths.hpp"

namespace galvatron::search {
namespace {

using test::Instance;

void expect_consistent(Instance& instance, const Path& path) {
  const auto sum = test::sum_of(instance, path.picks);
  EXPECT_EQ(sum.time, path.time);
  EXPECT_EQ(sum.bytes, path.bytes);
  EXPECT_LE(path.bytes, instance.problem.budget);
  EXPECT_TRUE(path.exact);
  EXPECT_EQ(path.floor, path.time);
}

TEST(Path, EqualsTheFullProduct) {
  int feasible = 0, tight = 0;
  for (uint64_t round = 0; round < 1500; ++round) {
    Instance instance(round, 6, 8, 3);
    const auto lightest = lightest_path(instance.problem, instance.ways);
    const auto least = test::enumerate(
        instance, [](const test::Sum& sum) { return sum.bytes; }, unreachable);
    ASSERT_EQ(lightest.has_value(), least != unreachable) << "round " << round;
    if (!lightest) continue;
    ASSERT_EQ(lightest->bytes, least) << "round " << round;
    test::Dice dice(900'000 + round);
    instance.problem.budget = least - 2 + dice.below(least + 40);
    const auto best = test::enumerate(
        instance, [](const test::Sum& sum) { return sum.time; }, instance.problem.budget);
    PathCounts counts;
    const auto path = best_path(instance.problem, instance.ways, counts);
    ASSERT_EQ(path.has_value(), best != unreachable) << "round " << round;
    if (!path) continue;
    ++feasible;
    tight += counts.labels > 0 ? 1 : 0;
    ASSERT_EQ(path->time, best) << "round " << round;
    expect_consistent(instance, *path);
    EXPECT_FALSE(best_path(instance.problem, instance.ways, counts, best).has_value()) << "round " << round;
    EXPECT_TRUE(best_path(instance.problem, instance.ways, counts, best + 1).has_value())
        << "round " << round;
  }
  EXPECT_GT(feasible, 500);
  EXPECT_GT(tight, 100) << "the label setting was hardly asked";
}

TEST(Path, MoreMemoryAndMoreOptionsNeverHurt) {
  for (uint64_t round = 0; round < 40; ++round) {
    Instance instance(5000 + round, 30, 8, 3);
    const auto lightest = lightest_path(instance.problem, instance.ways);
    if (!lightest) continue;
    PathCounts counts;
    int64_t before = unreachable;
    for (int64_t budget = lightest->bytes; budget < 4 * lightest->bytes; budget += 1 + lightest->bytes / 5) {
      instance.problem.budget = budget;
      const auto path = best_path(instance.problem, instance.ways, counts);
      ASSERT_TRUE(path.has_value()) << "round " << round;
      expect_consistent(instance, *path);
      EXPECT_LE(path->time, before) << "round " << round << " budget " << budget;
      before = path->time;
    }
    instance.problem.budget = lightest->bytes + lightest->bytes / 3;
    const int64_t few = best_path(instance.problem, instance.ways, counts)->time;
    test::Dice dice(6000 + round);
    instance.lists.front().push_back(test::random_option(dice, 1000, instance.ways.layouts()));
    EXPECT_LE(best_path(instance.problem, instance.ways, counts)->time, few) << "round " << round;
  }
}

TEST(Path, SaysSoWhenItGivesUp) {
  Instance instance(1, 30, 8, 1);
  instance.lists.front().clear();
  // Time and bytes that nearly add up to a constant: as hard as a knapsack gets.
  test::Dice dice(77);
  for (int i = 0; i < 12; ++i) {
    Option option;
    option.bytes = 1'000'000 + dice.below(1'000'000);
    option.time = 3'000'000 - option.bytes;
    instance.lists.front().push_back(option);
  }
  instance.problem.layers.assign(40, {&instance.lists.front(), any_layout});
  instance.problem.enters = any_layout;
  instance.problem.budget = 40 * 1'400'001;
  PathCounts counts;
  const auto path = best_path(instance.problem, instance.ways, counts, unreachable, 20000);
  ASSERT_TRUE(path.has_value());
  EXPECT_LE(path->floor, path->time);
  EXPECT_LE(static_cast<double>(path->time - path->floor), 1e-4 * static_cast<double>(path->time));
  EXPECT_LE(path->bytes, instance.problem.budget);
}

TEST(Path, DropsOnlyWhatIsCovered) {
  for (uint64_t round = 0; round < 200; ++round) {
    test::Dice dice(8000 + round);
    std::vector<Option> options;
    for (int i = 0; i < 12; ++i) options.push_back(test::random_option(dice, 6, 2));
    auto kept = options;
    keep_uncovered(kept);
    for (const Option& option : options)
      EXPECT_TRUE(std::any_of(kept.begin(), kept.end(), [&](const Option& k) { return covers(k, option); }));
    for (size_t i = 0; i < kept.size(); ++i)
      for (size_t j = 0; j < kept.size(); ++j)
        EXPECT_TRUE(i == j || !covers(kept[i], kept[j])) << "round " << round;
  }
}

}  // namespace
}  // namespace galvatron::search
