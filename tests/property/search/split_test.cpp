// Splits into stages against all splits, with honest and with useless bounds.
#include "search/split.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

#include "core/random.hpp"

namespace galvatron::search {
namespace {

constexpr uint64_t seed = 7;

struct Instance {
  SplitProblem problem;
  std::vector<int64_t> values;

  explicit Instance(uint64_t round) {
    const uint64_t key = core::key_of(seed, "split " + std::to_string(round));
    problem.layers = 1 + core::uniform_below(key, 0, 7);
    problem.stages = 1 + core::uniform_below(key, 1, std::min<int64_t>(problem.layers, 4));
    problem.micros = 1 + core::uniform_below(key, 2, 9);
    const int64_t unreachable_of_ten = core::uniform_below(key, 3, 5);
    for (int64_t i = 0; i < problem.stages * problem.layers * problem.layers; ++i) {
      const auto index = static_cast<uint64_t>(4 + 2 * i);
      values.push_back(core::uniform_below(key, index, 10) < unreachable_of_ten
                           ? unreachable
                           : core::uniform_below(key, index + 1, 50));
    }
  }

  int64_t at(int64_t stage, int64_t first, int64_t last) const {
    return values[static_cast<size_t>((stage * problem.layers + first) * problem.layers + last)];
  }

  /// Every split, by recursion.
  template <typename Visit>
  void all(int64_t stage, int64_t first, std::vector<int64_t>& used, const Visit& visit) const {
    for (int64_t last = first; last < problem.layers; ++last) {
      const bool final_stage = stage + 1 == problem.stages;
      if (final_stage != (last + 1 == problem.layers)) continue;
      used.push_back(at(stage, first, last));
      if (final_stage) {
        visit(used);
      } else {
        all(stage + 1, last + 1, used, visit);
      }
      used.pop_back();
    }
  }

  int64_t best() const {
    int64_t best = unreachable;
    std::vector<int64_t> used;
    all(0, 0, used, [&](const std::vector<int64_t>& u) {
      int64_t sum = 0, largest = 0;
      for (const int64_t value : u) {
        if (value == unreachable) return;
        sum += value;
        largest = std::max(largest, value);
      }
      best = std::min(best, sum + (problem.micros - 1) * largest);
    });
    return best;
  }
};

TEST(BestSplit, EqualsAllSplits) {
  for (uint64_t round = 0; round < 800; ++round) {
    const Instance instance(round);
    const auto exact = [&](int64_t s, int64_t i, int64_t j) { return instance.at(s, i, j); };
    const std::pair<const char*, StageValue> bounds[] = {
        {"exact", exact},
        {"zero", [](int64_t, int64_t, int64_t) -> int64_t { return 0; }},
        {"half", [&](int64_t s, int64_t i, int64_t j) {
           return exact(s, i, j) == unreachable ? 60 : exact(s, i, j) / 2;
         }}};
    const int64_t best = instance.best();
    for (const auto& [name, bound] : bounds) {
      const auto split = best_split(instance.problem, bound, exact);
      ASSERT_EQ(split.has_value(), best != unreachable) << "round " << round << " bound " << name;
      if (!split) continue;
      ASSERT_EQ(split->value, best) << "round " << round << " bound " << name;
      EXPECT_EQ(split->stages.front().first, 0);
      EXPECT_EQ(split->stages.back().last, instance.problem.layers - 1);
    }
  }
}

TEST(BestSplit, SolvesFewStagesWhenBoundsAreGood) {
  const SplitProblem problem{.stages = 8, .layers = 64, .micros = 16};
  const auto exact = [](int64_t, int64_t first, int64_t last) { return 100 * (last - first + 1); };
  const auto bound = [&](int64_t s, int64_t i, int64_t j) { return exact(s, i, j) - 1; };
  const auto split = best_split(problem, bound, exact);
  ASSERT_TRUE(split.has_value());
  EXPECT_EQ(split->value, 6400 + 15 * 800);
  EXPECT_LT(split->solved, 400) << "there are 8 × 64 × 65 / 2 stages";
}

TEST(FlattestSplit, EqualsAllSplits) {
  for (uint64_t round = 0; round < 300; ++round) {
    Instance instance(round);
    for (int64_t& value : instance.values)
      if (value == unreachable) value = 60;
    int64_t least = unreachable;
    std::vector<int64_t> used;
    instance.all(0, 0, used, [&](const std::vector<int64_t>& u) {
      least = std::min(least, *std::max_element(u.begin(), u.end()));
    });
    const auto split = flattest_split(instance.problem,
                                      [&](int64_t s, int64_t i, int64_t j) { return instance.at(s, i, j); });
    ASSERT_EQ(split.value, least) << "round " << round;
    int64_t next = 0;
    for (const auto& stage : split.stages) {
      EXPECT_EQ(stage.first, next);
      next = stage.last + 1;
    }
    EXPECT_EQ(next, instance.problem.layers);
  }
}

}  // namespace
}  // namespace galvatron::search
