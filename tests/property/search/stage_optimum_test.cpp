// The optimum of one stage against the full product of choices on random small instances, and laws that must
// hold on large ones.
#include "search/stage_optimum.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

#include "core/random.hpp"

namespace galvatron::search {
namespace {

constexpr uint64_t seed = 20240611;

/// Random numbers in order.
class Dice {
 public:
  explicit Dice(uint64_t round) : key_(core::key_of(seed, "stage " + std::to_string(round))) {}
  int64_t below(int64_t bound) { return core::uniform_below(key_, next_++, bound); }

 private:
  uint64_t key_;
  uint64_t next_ = 0;
};

/// Small ranges make ties; the anticorrelated kind makes long fronts.
Choice random_choice(Dice& dice, int64_t range) {
  Choice choice;
  choice.bytes = dice.below(range);
  choice.time = dice.below(2) == 0 ? dice.below(range) : range - choice.bytes + dice.below(3);
  choice.work = dice.below(4) * range / 4;
  choice.gathered = dice.below(3) == 0 ? dice.below(range) : 0;
  choice.unreduced = dice.below(3) == 0 ? dice.below(range) : 0;
  return choice;
}

std::vector<LayerGroup> random_groups(Dice& dice, int64_t layers, int64_t choices) {
  const int64_t range = dice.below(2) == 0 ? 12 : 1000;
  std::vector<LayerGroup> groups;
  // Kinds of which this stage has no layer are there all the same.
  if (dice.below(3) == 0) groups.push_back({0, {random_choice(dice, range)}});
  while (layers > 0) {
    LayerGroup group;
    group.count = 1 + dice.below(layers);
    layers -= group.count;
    const int64_t count = 1 + dice.below(choices);
    for (int64_t i = 0; i < count; ++i) group.choices.push_back(random_choice(dice, range));
    groups.push_back(group);
  }
  return groups;
}

/// Every layer's every choice.
void enumerate(const std::vector<LayerGroup>& groups, size_t group, int64_t layer, Choice sum, int64_t budget,
               int64_t& best) {
  if (group == groups.size()) {
    if (sum.bytes + sum.work + sum.gathered + sum.unreduced <= budget) best = std::min(best, sum.time);
    return;
  }
  if (layer == groups[group].count) return enumerate(groups, group + 1, 0, sum, budget, best);
  for (const Choice& choice : groups[group].choices)
    enumerate(groups, group, layer + 1,
              {sum.time + choice.time, sum.bytes + choice.bytes, std::max(sum.work, choice.work),
               std::max(sum.gathered, choice.gathered), std::max(sum.unreduced, choice.unreduced)},
              budget, best);
}

constexpr int64_t none = std::numeric_limits<int64_t>::max();

/// The answer's own picks, added up again.
void expect_consistent(const std::vector<LayerGroup>& groups, const StageOptimum& optimum, int64_t budget) {
  Choice sum;
  for (size_t g = 0; g < groups.size(); ++g) {
    int64_t count = 0;
    for (const Pick& pick : optimum.picks[g]) {
      const Choice& choice = groups[g].choices[static_cast<size_t>(pick.choice)];
      count += pick.count;
      sum = {sum.time + pick.count * choice.time, sum.bytes + pick.count * choice.bytes,
             std::max(sum.work, choice.work), std::max(sum.gathered, choice.gathered),
             std::max(sum.unreduced, choice.unreduced)};
    }
    EXPECT_EQ(count, groups[g].count) << "group " << g;
  }
  EXPECT_EQ(sum.time, optimum.time);
  EXPECT_EQ(sum.bytes + sum.work + sum.gathered + sum.unreduced, optimum.bytes);
  EXPECT_LE(optimum.bytes, budget);
}

TEST(StageOptimum, EqualsTheFullProduct) {
  int feasible = 0;
  for (uint64_t round = 0; round < 600; ++round) {
    Dice dice(round);
    const auto groups = random_groups(dice, 1 + dice.below(6), 6);
    const int64_t least = least_memory(groups).bytes;
    const int64_t budget = least - 2 + dice.below(least + 40);
    int64_t best = none;
    enumerate(groups, 0, 0, {}, budget, best);
    const auto optimum = solve_stage(groups, budget);
    ASSERT_EQ(optimum.has_value(), best != none) << "round " << round << " seed " << seed;
    if (!optimum) continue;
    ++feasible;
    ASSERT_EQ(optimum->time, best) << "round " << round << " seed " << seed;
    expect_consistent(groups, *optimum, budget);
    EXPECT_TRUE(optimum->exact);
  }
  EXPECT_GT(feasible, 200);
}

TEST(StageOptimum, LeastMemoryIsTheEdgeOfFeasibility) {
  for (uint64_t round = 0; round < 200; ++round) {
    Dice dice(1000 + round);
    const auto groups = random_groups(dice, 1 + dice.below(8), 6);
    const auto least = least_memory(groups);
    expect_consistent(groups, least, least.bytes);
    EXPECT_TRUE(solve_stage(groups, least.bytes).has_value()) << "round " << round;
    EXPECT_FALSE(solve_stage(groups, least.bytes - 1).has_value()) << "round " << round;
  }
}

TEST(StageOptimum, MoreMemoryAndMoreChoicesNeverHurt) {
  for (uint64_t round = 0; round < 60; ++round) {
    Dice dice(2000 + round);
    auto groups = random_groups(dice, 30, 8);
    const int64_t least = least_memory(groups).bytes;
    int64_t before = none;
    for (int64_t budget = least; budget < 4 * least; budget += 1 + least / 5) {
      const auto optimum = solve_stage(groups, budget);
      ASSERT_TRUE(optimum.has_value());
      EXPECT_LE(optimum->time, before) << "round " << round << " budget " << budget;
      before = optimum->time;
    }
    const int64_t budget = least + least / 3;
    const int64_t few = solve_stage(groups, budget)->time;
    groups.front().choices.push_back(random_choice(dice, 1000));
    EXPECT_LE(solve_stage(groups, budget)->time, few) << "round " << round;
  }
}

}  // namespace
}  // namespace galvatron::search
