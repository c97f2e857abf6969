// The decision tree: nothing illegal is left in it, nothing legal is missing, and every cut says why.
#include "search/space.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "program/lower.hpp"
#include "search/search.hpp"
#include "search/tasks.hpp"
#include "support/models.hpp"

namespace galvatron::search {
namespace {

Space space_of(int64_t ranks, const SearchOptions& options,
               const spec::ModelSpec& model = test::small_model(3)) {
  return make_space(model, Kinds(model), {1, ranks, 0}, options);
}

std::string cuts_text(const Space& space) {
  std::string text;
  for (const Cut& cut : space.cuts)
    text += cut.level + ": " + cut.reason + " ×" + std::to_string(cut.count) + "\n";
  return text;
}

bool has_cut(const Space& space, const std::string& part) {
  return cuts_text(space).find(part) != std::string::npos;
}

TEST(Space, EqualLayersAreOneKind) {
  const Kinds kinds(test::small_model(5));
  EXPECT_EQ(kinds.size(), 4);
  EXPECT_EQ(kinds.of_layer, (std::vector<int64_t>{0, 1, 2, 1, 2, 1, 2, 1, 2, 1, 2, 3}));
}

TEST(Space, HoldsWhatIsLegalForAnyNumberOfRanks) {
  const auto model = test::small_model(3);
  for (const int64_t ranks : {1, 2, 3, 5, 6, 7, 8, 12}) {
    const Space space = space_of(ranks, {}, model);
    ASSERT_FALSE(space.divisions.empty()) << ranks;
    for (const Division& division : space.divisions) {
      EXPECT_EQ(division.stages * division.degrees.ranks(), ranks);
      for (size_t kind = 0; kind < division.choices.size(); ++kind) {
        EXPECT_EQ(division.choices[kind].empty(),
                  program::illegal_reason(Kinds(model).specs[kind], division.degrees, 16).has_value())
            << ranks << " ranks, " << spec::to_string(division.degrees);
        EXPECT_TRUE(std::is_sorted(division.choices[kind].begin(), division.choices[kind].end()));
        for (const auto& strategy : division.choices[kind])
          EXPECT_FALSE(program::illegal_reason(Kinds(model).specs[kind], strategy, 16).has_value());
      }
    }
  }
}

TEST(Space, PoolsHoldAllLeavesByLayout) {
  const auto model = test::small_model(3);
  for (const int64_t ranks : {1, 4, 6, 12}) {
    const Space space = space_of(ranks, {}, model);
    ASSERT_FALSE(space.pools.empty());
    int64_t leaves = 0, of_pools = 0;
    for (const Division& division : space.divisions)
      for (const auto& choices : division.choices)
        if (std::any_of(space.pools.begin(), space.pools.end(),
                        [&](const Pool& pool) { return pool.stages == division.stages; }))
          leaves += static_cast<int64_t>(choices.size());
    for (const Pool& pool : space.pools) {
      EXPECT_EQ(pool.stages * pool.ranks, ranks);
      EXPECT_TRUE(std::is_sorted(pool.layouts.begin(), pool.layouts.end()));
      for (size_t kind = 0; kind < pool.choices.size(); ++kind) {
        of_pools += static_cast<int64_t>(pool.choices[kind].size());
        for (size_t i = 0; i < pool.choices[kind].size(); ++i) {
          const auto& layout = pool.layouts[static_cast<size_t>(pool.layout_of[kind][i])];
          EXPECT_EQ(layout.dp, pool.choices[kind][i].dp);
          EXPECT_EQ(layout.cp, pool.choices[kind][i].cp);
        }
      }
    }
    EXPECT_EQ(of_pools, leaves);
  }
}

TEST(Space, KeepsTensorParallelismInANode) {
  SearchOptions options;
  options.in_node = true;
  options.max_cp = 2;
  options.max_sp = 2;
  const auto model = test::small_model(3);
  const Space space = make_space(model, Kinds(model), {4, 2, 0}, options);
  EXPECT_TRUE(has_cut(space, "search.in_node: tp · sp exceeds the 2 ranks of a node")) << cuts_text(space);
  EXPECT_TRUE(has_cut(space, "search.max_cp = 2")) << cuts_text(space);
  for (const Division& division : space.divisions) {
    EXPECT_LE(division.degrees.tp * division.degrees.sp, 2);
    EXPECT_LE(division.degrees.cp, 2);
  }
}

TEST(Space, SaysWhyADivisionIsMissing) {
  SearchOptions options;
  Space space = space_of(8, options);
  EXPECT_TRUE(has_cut(space, "tp = 8 does not divide heads = 4")) << cuts_text(space);
  EXPECT_TRUE(has_cut(space, "tp · sp = 2 · 4 = 8 does not divide heads = 4")) << cuts_text(space);
  options.axes = {spec::Axis::dp};
  space = space_of(4, options);
  EXPECT_TRUE(has_cut(space, "search.axes leaves out tp")) << cuts_text(space);
  for (const Division& division : space.divisions) EXPECT_EQ(division.degrees.tp, 1);
  options = {};
  options.max_tp = 2;
  options.max_pp = 1;
  space = space_of(4, options);
  EXPECT_TRUE(has_cut(space, "search.max_tp = 2")) << cuts_text(space);
  EXPECT_TRUE(has_cut(space, "search.max_pp = 1")) << cuts_text(space);
  options = {};
  options.batches = {2};
  EXPECT_TRUE(has_cut(space_of(4, options), "dp = 4 exceeds the 2 samples"));
  EXPECT_TRUE(has_cut(space_of(64, {}, test::small_model(1)), "more stages than the model's 4 layers"));
}

TEST(Space, TasksHaveASampleForEveryReplica) {
  SearchOptions options;
  options.batches = {12};
  Space space = space_of(4, options);
  const auto tasks = make_tasks(space, 8, {1, 4, 0}, options);
  EXPECT_FALSE(tasks.empty());
  for (const Task& task : tasks) {
    EXPECT_EQ(12 % task.micros, 0);
    EXPECT_GE(task.samples(), 1);
    for (const auto& choices : task.pool->choices)
      EXPECT_TRUE(std::any_of(choices.begin(), choices.end(),
                              [&](const auto& strategy) { return strategy.dp <= task.samples(); }));
  }
  options.axes = {spec::Axis::dp};
  space = space_of(4, options);
  EXPECT_LT(make_tasks(space, 8, {1, 4, 0}, options).size(), tasks.size());
  EXPECT_TRUE(has_cut(space, "fewer samples in a micro-batch than dp"));
  options = {};
  options.batches = {12};
  options.schedules.push_back(plan::ScheduleKind::interleaved);
  options.schedules.push_back(plan::ScheduleKind::eager_one_f_one_b);
  space = space_of(4, options);
  int64_t interleaved = 0, eager = 0;
  for (const Task& task : make_tasks(space, 8, {1, 4, 0}, options)) {
    EXPECT_FALSE(plan::illegal_reason(task.schedule, task.pipeline()).has_value());
    interleaved += task.chunks > 1 ? 1 : 0;
    eager += task.schedule == plan::ScheduleKind::eager_one_f_one_b ? 1 : 0;
  }
  EXPECT_GT(interleaved, 0);
  EXPECT_GT(eager, 0);
}

TEST(Space, NeededProgramsAreDistinct) {
  SearchOptions options;
  options.batches = {4, 8};
  const auto needed = needed_programs(test::small_model(2), {1, 4, 0}, options);
  EXPECT_GT(needed.size(), 50u);
  for (size_t i = 0; i < needed.size(); ++i)
    for (size_t j = 0; j < i; ++j)
      EXPECT_FALSE(needed[i].layer == needed[j].layer &&
                   needed[i].context.strategy == needed[j].context.strategy &&
                   needed[i].context.samples == needed[j].context.samples &&
                   needed[i].context.tie == needed[j].context.tie);
}

}  // namespace
}  // namespace galvatron::search
