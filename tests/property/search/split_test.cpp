// Splits into stages with layouts between them against all splits, with honest and with useless bounds; and
// the bounds of stretches against the paths themselves.
#include "search/split.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

#include "core/random.hpp"
#include "search/stage_bounds.hpp"
#include "support/paths.hpp"

namespace galvatron::search {
namespace {

constexpr uint64_t seed = 7;

/// Random values of all cases.
struct Instance {
  SplitProblem problem;
  std::vector<int64_t> values;

  explicit Instance(uint64_t round) {
    const uint64_t key = core::key_of(seed, "split " + std::to_string(round));
    problem.layers = 1 + core::uniform_below(key, 0, 7);
    problem.stages = 1 + core::uniform_below(key, 1, std::min<int64_t>(problem.layers, 4));
    problem.micros = 1 + core::uniform_below(key, 2, 9);
    problem.layouts = static_cast<int32_t>(1 + core::uniform_below(key, 3, 3));
    const int64_t unreachable_of_ten = core::uniform_below(key, 4, 5);
    const int64_t states = problem.stages * problem.layers * problem.layers * 16;
    for (int64_t i = 0; i < states; ++i) {
      const auto index = static_cast<uint64_t>(5 + 2 * i);
      values.push_back(core::uniform_below(key, index, 10) < unreachable_of_ten
                           ? unreachable
                           : core::uniform_below(key, index + 1, 50));
    }
  }

  int64_t at(const StageCase& one) const {
    const int64_t triple = (one.stage * problem.layers + one.first) * problem.layers + one.last;
    return values[static_cast<size_t>((triple * 4 + one.enters + 1) * 4 + one.leaves + 1)];
  }

  /// Every split, by recursion.
  void all(StageCase one, std::vector<int64_t>& used,
           const std::function<void(const std::vector<int64_t>&)>& visit) const {
    const bool final_stage = one.stage + 1 == problem.stages;
    for (one.last = one.first; one.last < problem.layers; ++one.last) {
      if (final_stage != (one.last + 1 == problem.layers)) continue;
      for (one.leaves = final_stage ? any_layout : 0; one.leaves < (final_stage ? 0 : problem.layouts);
           ++one.leaves) {
        used.push_back(at(one));
        if (final_stage)
          visit(used);
        else
          all({one.stage + 1, one.last + 1, 0, one.leaves, 0}, used, visit);
        used.pop_back();
      }
    }
  }

  int64_t best() const {
    int64_t best = unreachable;
    std::vector<int64_t> used;
    all({0, 0, 0, any_layout, 0}, used, [&](const std::vector<int64_t>& u) {
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

/// The instance's values behind a bound.
class Values final : public StageValues {
 public:
  using Bound = std::function<int64_t(int64_t value)>;
  Values(const Instance& instance, Bound bound) : instance_(instance), bound_(std::move(bound)) {}

  int64_t least(int64_t stage, int64_t first, int64_t last) const override {
    int64_t least = unreachable;
    for (int32_t enters = any_layout; enters < 3; ++enters)
      for (int32_t leaves = any_layout; leaves < 3; ++leaves)
        least = std::min(least, bound({stage, first, last, enters, leaves}));
    return least;
  }
  int64_t bound(const StageCase& one) const override { return bound_(instance_.at(one)); }
  int64_t exact(const StageCase& one) override {
    EXPECT_TRUE(asked_.insert(one).second) << "asked twice";
    return instance_.at(one);
  }
  size_t asked() const { return asked_.size(); }

 private:
  const Instance& instance_;
  Bound bound_;
  std::set<StageCase> asked_;
};

TEST(BestSplit, EqualsAllSplits) {
  for (uint64_t round = 0; round < 800; ++round) {
    const Instance instance(round);
    const std::pair<const char*, Values::Bound> bounds[] = {
        {"exact", [](int64_t value) { return value; }},
        {"zero", [](int64_t) -> int64_t { return 0; }},
        {"half", [](int64_t value) { return value == unreachable ? 60 : value / 2; }}};
    const int64_t best = instance.best();
    for (const auto& [name, bound] : bounds)
      for (const int64_t limit : {unreachable, best}) {
        Values values(instance, bound);
        const auto split = best_split(instance.problem, values, limit);
        ASSERT_EQ(split.has_value(), best != unreachable) << "round " << round << " bound " << name;
        if (!split) continue;
        ASSERT_EQ(split->value, best) << "round " << round << " bound " << name;
        EXPECT_EQ(split->stages.front().first, 0);
        EXPECT_EQ(split->stages.back().last, instance.problem.layers - 1);
        int64_t sum = 0, largest = 0;
        for (size_t s = 0; s < split->stages.size(); ++s) {
          sum += instance.at(split->stage(s));
          largest = std::max(largest, instance.at(split->stage(s)));
        }
        EXPECT_EQ(sum + (instance.problem.micros - 1) * largest, best) << "round " << round;
      }
    if (best == unreachable || best == 0) continue;
    Values values(instance, bounds[2].second);
    EXPECT_FALSE(best_split(instance.problem, values, best - 1).has_value()) << "round " << round;
  }
}

TEST(FlattestSplit, EqualsAllSplits) {
  for (uint64_t round = 0; round < 300; ++round) {
    Instance instance(round);
    const auto value = [&](int64_t s, int64_t i, int64_t j) {
      const int64_t value = instance.at({s, i, j, 0, 0});
      return value == unreachable ? 60 : value;
    };
    const auto largest_of = [&](const std::vector<plan::StageLayers>& stages) {
      int64_t largest = 0;
      for (size_t s = 0; s < stages.size(); ++s)
        largest = std::max(largest, value(static_cast<int64_t>(s), stages[s].first, stages[s].last));
      return largest;
    };
    int64_t least = unreachable;
    std::vector<plan::StageLayers> stages;
    const std::function<void(int64_t)> cut = [&](int64_t first) {
      const auto left = instance.problem.stages - static_cast<int64_t>(stages.size());
      for (int64_t last = left == 1 ? instance.problem.layers - 1 : first; last < instance.problem.layers;
           ++last) {
        stages.push_back({first, last});
        if (left == 1)
          least = std::min(least, largest_of(stages));
        else if (last + 1 < instance.problem.layers)
          cut(last + 1);
        stages.pop_back();
      }
    };
    cut(0);
    const auto found = flattest_split(instance.problem, value);
    ASSERT_EQ(largest_of(found), least) << "round " << round;
    int64_t next = 0;
    for (const auto& stage : found) {
      EXPECT_EQ(stage.first, next);
      next = stage.last + 1;
    }
    EXPECT_EQ(next, instance.problem.layers);
  }
}

TEST(StageBounds, NeverExceedThePaths) {
  int64_t compared = 0;
  double looseness = 0;
  for (uint64_t round = 0; round < 120; ++round) {
    test::Instance instance(70'000 + round, 6, 6, 3);
    test::Dice dice(80'000 + round);
    const std::vector<std::vector<Option>> options(instance.lists.begin(), instance.lists.end());
    std::vector<int64_t> kinds;
    for (int layer = 0; layer < 6; ++layer) kinds.push_back(dice.below(static_cast<int64_t>(options.size())));
    const Stretches stretches(kinds, 6);
    const int64_t budget = dice.below(400) + (dice.below(2) == 0 ? 0 : 3000);
    StageBounds bounds(stretches, options, instance.ways, budget);
    bounds.fill(5);
    bounds.fill(6);
    for (int64_t first = 0; first < 6; ++first)
      for (int64_t last = first; last < 6; ++last)
        for (int32_t layout = 0; layout < instance.ways.layouts(); ++layout) {
          PathProblem problem;
          for (int64_t layer = first; layer <= last; ++layer)
            problem.layers.push_back(
                {&options[static_cast<size_t>(kinds[static_cast<size_t>(layer)])], any_layout});
          problem.budget = budget;
          problem.flows = 0;
          PathCounts counts;
          const auto time = [&](const PathProblem& p) {
            const auto path = best_path(p, instance.ways, counts);
            return path ? path->time : unreachable;
          };
          const int32_t stretch = stretches.of(first, last);
          const int64_t free = time(problem);
          EXPECT_LE(bounds.least(stretch), free) << "round " << round;
          PathProblem leaving = problem, entering = problem;
          leaving.layers.back().leaves = layout;
          entering.enters = layout;
          EXPECT_LE(bounds.leaving(stretch, layout), time(leaving)) << "round " << round;
          EXPECT_LE(bounds.entering(stretch, layout), time(entering)) << "round " << round;
          if (free == unreachable || free == 0) continue;
          ++compared;
          looseness += 1 - static_cast<double>(bounds.least(stretch)) / static_cast<double>(free);
        }
  }
  EXPECT_GT(compared, 1000);
  EXPECT_LT(looseness / static_cast<double>(compared), 0.3) << "such bounds help nobody";
}

}  // namespace
}  // namespace galvatron::search
