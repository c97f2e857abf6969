// The whole search on small models and a made-up machine: against every plan there is, with more memory, with
// more workers, on odd numbers of ranks, and where nothing fits.
#include "search/search.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <map>
#include <mutex>
#include <set>

#include "plan/by_hand.hpp"
#include "search/report.hpp"
#include "search/tasks.hpp"
#include "support/search_case.hpp"
#include "support/worker_threads.hpp"

namespace galvatron::search {
namespace {

using test_case::Case;
using test_case::no_workspace;
using test_case::roomy_bytes;

/// Every legal plan: stages × micro-batches × splits × strategies of every layer, of any layout.
void all_plans(const Case& c, const std::function<void(const plan::Plan&)>& visit) {
  const Kinds kinds(c.model);
  const Space space = make_space(c.model, kinds, c.cluster, c.options);
  for (const Pool& pool : space.pools)
    for (const int64_t micros : {1, 2, 4}) {
      plan::Plan plan;
      plan.world = c.cluster.ranks();
      plan.batch = 4;
      plan.microbatches = micros;
      plan.layers.resize(static_cast<size_t>(c.model.size()));
      const std::function<void(int64_t)> choose = [&](int64_t layer) {
        if (layer == c.model.size()) {
          if (plan::faults_of(plan, c.model, plan.world).empty()) visit(plan);
          return;
        }
        for (const auto& strategy :
             pool.choices[static_cast<size_t>(kinds.of_layer[static_cast<size_t>(layer)])]) {
          plan.layers[static_cast<size_t>(layer)] = strategy;
          choose(layer + 1);
        }
      };
      const std::function<void(int64_t)> cut = [&](int64_t first) {
        if (static_cast<int64_t>(plan.stages.size()) + 1 == pool.stages) {
          plan.stages.push_back({first, c.model.size() - 1});
          choose(0);
          plan.stages.pop_back();
          return;
        }
        for (int64_t last = first; last + 1 < c.model.size(); ++last) {
          plan.stages.push_back({first, last});
          cut(last + 1);
          plan.stages.pop_back();
        }
      };
      cut(0);
    }
}

/// The search plans with two buffers as large as the larger one.
int64_t doubled_bytes(const cost::PlanPrice& price) {
  int64_t most = 0;
  for (const auto& memory : price.memory) {
    int64_t bytes = memory.total();
    for (const auto& pair : {memory.arena.gathered_bytes, memory.arena.unreduced_bytes})
      bytes += 2 * std::max(pair[0], pair[1]) - pair[0] - pair[1];
    most = std::max(most, bytes);
  }
  return most;
}

TEST(Search, NoPlanIsMuchFasterInTheSimulator) {
  Case c(1, 1, 2, 0);
  c.options.zero = {0, 3};
  c.options.axes = {spec::Axis::tp, spec::Axis::cp, spec::Axis::dp};
  const int64_t roomy = roomy_bytes(c);
  for (const int64_t percent : {100, 80, 60}) {
    c.cluster.memory_bytes = roomy * percent / 100;
    cost::LayerPricer pricer(c.profile, c.cluster, no_workspace);
    double best = 0, best_alone = 0;
    int64_t plans = 0;
    all_plans(c, [&](const plan::Plan& plan) {
      const auto price = cost::price_plan(plan, c.model, core::DType::f32, pricer);
      if (price.memory_bytes() > c.cluster.memory_bytes) return;
      ++plans;
      if (best == 0 || price.step_seconds < best) best = price.step_seconds;
      if (plan.stages.size() == 1 && doubled_bytes(price) <= c.cluster.memory_bytes &&
          (best_alone == 0 || price.step_seconds < best_alone))
        best_alone = price.step_seconds;
    });
    const auto result = c.run();
    ASSERT_EQ(result.best.empty(), plans == 0) << percent;
    if (plans == 0) continue;
    const double found = result.best.front().candidate.plan.predicted_step_seconds;
    EXPECT_LE(found, best * 1.02) << percent << " %: the surrogate may err between stages, a little";
    EXPECT_GE(found, best * (1 - 1e-9)) << percent;
    c.options.max_pp = 1;
    const auto alone = c.run();
    if (best_alone > 0) {
      ASSERT_FALSE(alone.best.empty());
      EXPECT_LE(alone.best.front().candidate.plan.predicted_step_seconds, best_alone + 20e-9)
          << percent << " %: one stage has no surrogate error";
    }
    c.options.max_pp = 0;
  }
}

TEST(Search, CountsMicroBatchesInFlightAsLanesDo) {
  using plan::ScheduleKind;
  for (const auto schedule :
       {ScheduleKind::one_f_one_b, ScheduleKind::eager_one_f_one_b, ScheduleKind::gpipe})
    for (int64_t ranks = 1; ranks <= 7; ++ranks)
      for (int64_t micros = 1; micros <= 16; ++micros) {
        Pool pool;
        pool.stages = ranks;
        Task task;
        task.batch = task.micros = micros;
        task.pool = &pool;
        task.schedule = schedule;
        std::vector<int64_t> counted;
        for (const auto& lane : plan::make_schedule(schedule, task.pipeline()))
          counted.push_back(plan::in_flight(lane));
        EXPECT_EQ(slots_of(task), counted) << ranks << " ranks, " << micros << " micro-batches";
      }
}

/// Tasks are left out by their bounds, so a bound above a plan would lose plans.
TEST(Search, NoPlanThatFitsTakesLessThanTheBoundOfItsTask) {
  for (const auto schedule : {plan::ScheduleKind::one_f_one_b, plan::ScheduleKind::gpipe}) {
    Case c(1, 1, 2, 0);
    c.options.zero = {0, 3};
    c.options.axes = {spec::Axis::tp, spec::Axis::dp};
    c.options.schedules = {schedule};
    const int64_t roomy = roomy_bytes(c);
    for (const int64_t percent : {100, 75, 55}) {
      c.cluster.memory_bytes = roomy * percent / 100;
      const Kinds kinds(c.model);
      Space space = make_space(c.model, kinds, c.cluster, c.options);
      cost::LayerPricer pricer(c.profile, c.cluster, no_workspace);
      const SearchContext context{c.model, kinds, c.options, c.profile, pricer, spec::fingerprint(c.model)};
      std::map<std::pair<int64_t, int64_t>, int64_t> quick, priced;
      for (const Task& task : make_tasks(space, c.model.size(), c.cluster, c.options)) {
        const std::pair key(task.pool->stages, task.micros);
        quick[key] = quick_bound(context, task);
        priced[key] = TaskSolver(context, task, c.cluster.memory_bytes).bound();
      }
      std::map<std::pair<int64_t, int64_t>, int64_t> least;
      all_plans(c, [&](plan::Plan plan) {
        plan.schedule = schedule;
        const auto price = cost::price_plan(plan, c.model, core::DType::f32, pricer);
        if (price.memory_bytes() > c.cluster.memory_bytes) return;
        const std::pair key(static_cast<int64_t>(plan.stages.size()), plan.microbatches);
        const int64_t step = nanoseconds(price.step_seconds);
        ASSERT_LE(quick.at(key), step) << percent << " %, " << key.first << " stages, " << key.second;
        ASSERT_LE(priced.at(key), step) << percent << " %, " << key.first << " stages, " << key.second;
        const auto found = least.try_emplace(key, step).first;
        found->second = std::min(found->second, step);
      });
      for (const auto& [key, step] : least)
        EXPECT_GE(static_cast<double>(priced.at(key)), 0.5 * static_cast<double>(step))
            << percent << " %, " << key.first << " stages, " << key.second << ": such bounds help nobody";
    }
  }
}

TEST(Search, PlansAreLegalAndWithinMemoryForAnyNumberOfRanks) {
  for (const int64_t ranks : {1, 2, 3, 5, 6, 7, 8}) {
    Case c(3, 1, ranks, 0);
    c.options.batches = {12};
    c.cluster.memory_bytes = roomy_bytes(c) * 9 / 10;
    const auto result = c.run();
    ASSERT_FALSE(result.best.empty()) << ranks << " ranks\n" << infeasible_text(*result.infeasible);
    for (const Ranked& ranked : result.best) {
      const auto& plan = ranked.candidate.plan;
      const auto faults = plan::faults_of(plan, c.model, ranks);
      EXPECT_TRUE(faults.empty()) << ranks << " ranks: " << faults.front();
      EXPECT_LE(ranked.candidate.memory_bytes, c.cluster.memory_bytes);
      EXPECT_EQ(plan::plan_from_toml(plan::to_toml(plan, c.model), "plan.toml", c.model), plan);
    }
    EXPECT_TRUE(result.statistics.exact);
  }
}

TEST(Search, RanksBestFirstAndBeatsTheRestrictedPlans) {
  Case c(3, 2, 2, 0);
  c.options.batches = {8};
  c.cluster.memory_bytes = roomy_bytes(c) * 8 / 10;
  const auto result = c.run();
  ASSERT_GE(result.best.size(), 2u);
  for (size_t i = 1; i < result.best.size(); ++i) {
    EXPECT_LE(result.best[i - 1].candidate.step_ns, result.best[i].candidate.step_ns);
    EXPECT_NE(result.best[i].candidate.plan, result.best[i - 1].candidate.plan);
    EXPECT_FALSE(result.best[i].loses.empty());
  }
  ASSERT_EQ(result.restricted.size(), 6u);
  for (const Restricted& restricted : result.restricted) {
    if (!restricted.best) continue;
    EXPECT_LE(static_cast<double>(result.best.front().candidate.step_ns),
              1.02 * static_cast<double>(restricted.best->step_ns))
        << restricted.name;
  }
}

TEST(Search, MoreMemoryAndMoreChoicesNeverHurtAStage) {
  Case c(3, 1, 4, 0);
  c.options.max_pp = 1;
  const int64_t roomy = roomy_bytes(c);
  int64_t before = std::numeric_limits<int64_t>::max();
  for (int64_t percent = 30; percent <= 110; percent += 20) {
    c.cluster.memory_bytes = roomy * percent / 100;
    const auto result = c.run();
    if (result.best.empty()) continue;
    EXPECT_LE(result.best.front().candidate.step_ns, before) << percent << " %";
    before = result.best.front().candidate.step_ns;
    Case fewer = c;
    fewer.options.zero = {0, 1};
    fewer.options.recompute = {spec::Recompute::none};
    const auto poorer = fewer.run();
    if (!poorer.best.empty()) {
      EXPECT_GE(poorer.best.front().candidate.step_ns, before) << percent << " %";
    }
  }
  EXPECT_NE(before, std::numeric_limits<int64_t>::max());
}

TEST(Search, IsTheSameForAnyNumberOfWorkers) {
  Case c(2, 2, 2, 0);
  c.options.batches = {4};
  for (const int64_t percent : {85, 1}) {
    c.cluster.memory_bytes = roomy_bytes(c) * percent / 100;
    std::set<std::string> outcomes;
    std::mutex guard;
    for (const int workers : {1, 2, 3, 4, 8})
      test::on_workers(workers, [&](core::WorkQueue& queue) {
        const auto result = search(c.model, c.cluster, c.profile, c.options, no_workspace, queue);
        std::string text = ranking_table(result) + space_tree(result.space, Kinds(c.model));
        for (const Ranked& ranked : result.best) text += plan::to_toml(ranked.candidate.plan, c.model);
        if (result.infeasible) text += infeasible_text(*result.infeasible);
        const std::lock_guard lock(guard);
        outcomes.insert(std::move(text));
      });
    EXPECT_EQ(outcomes.size(), 1u) << percent;
  }
}

/// Notes every Program that is lowered.
class Spy final : public program::WorkspaceRule {
 public:
  int64_t bytes(const program::Program& program, const program::Step&) const override {
    seen.insert({program.layer.kind, program.strategy, program.samples});
    return 0;
  }
  mutable std::set<std::tuple<std::string, spec::LayerStrategy, int64_t>> seen;
};

TEST(Search, PricesOnlyWhatItSaidItWouldNeed) {
  Case c(2, 1, 4, 0);
  c.options.batches = {4, 6};
  std::set<std::tuple<std::string, spec::LayerStrategy, int64_t>> needed;
  for (const auto& program : needed_programs(c.model, c.cluster, c.options))
    needed.insert({program.layer.kind, program.context.strategy, program.context.samples});
  const Spy spy;
  core::LocalQueue queue;
  search(c.model, c.cluster, c.profile, c.options, spy, queue);
  EXPECT_FALSE(spy.seen.empty());
  // Bounds ask for layers without replicas: the same compute steps, so nothing new to measure.
  const auto is_part = [&](const std::string& kind, const spec::LayerStrategy& s, int64_t samples) {
    return std::any_of(needed.begin(), needed.end(), [&](const auto& one) {
      const auto& [k, n, count] = one;
      return k == kind && n.tp == s.tp && n.sp == s.sp && n.cp == s.cp && count == samples;
    });
  };
  for (const auto& program : spy.seen)
    EXPECT_TRUE(needed.contains(program) ||
                (std::get<1>(program).dp == 1 && std::get<1>(program).zero == 0 &&
                 is_part(std::get<0>(program), std::get<1>(program), std::get<2>(program))))
        << std::get<0>(program) << " " << spec::to_string(std::get<1>(program)) << " samples "
        << std::get<2>(program);
}

TEST(Search, ExplainsWhyNothingFits) {
  Case c(3, 1, 2, 0);
  c.options.zero = {0};
  c.options.recompute = {spec::Recompute::none};
  c.options.max_pp = 1;
  c.cluster.memory_bytes = 1000;
  auto result = c.run();
  ASSERT_TRUE(result.best.empty());
  ASSERT_TRUE(result.infeasible.has_value());
  const int64_t wanted = result.infeasible->nearest.memory_bytes;
  EXPECT_EQ(result.infeasible->short_bytes, wanted - 1000);
  for (const Change& change : result.infeasible->changes) EXPECT_FALSE(change.fits) << change.what;
  // A byte less than the nearest miss needs is infeasible, exactly that is not.
  c.cluster.memory_bytes = wanted - 1;
  result = c.run();
  ASSERT_TRUE(result.infeasible.has_value());
  EXPECT_EQ(result.infeasible->short_bytes, 1);
  const auto helps = [&](const std::string& what) {
    const auto& changes = result.infeasible->changes;
    return std::any_of(changes.begin(), changes.end(),
                       [&](const Change& c) { return c.fits && c.what == what; });
  };
  EXPECT_TRUE(helps("recompute (search.recompute)")) << infeasible_text(*result.infeasible);
  EXPECT_TRUE(helps("4 ranks instead of 2")) << infeasible_text(*result.infeasible);
  EXPECT_NE(infeasible_text(*result.infeasible).find("1 B too much"), std::string::npos);
  c.cluster.memory_bytes = wanted;
  EXPECT_FALSE(c.run().best.empty());
}

TEST(Search, ProposesInterleavedAndEagerWhereTheyAreOffered) {
  Case c(5, 1, 2, 0);
  c.options.axes = {};
  c.options.batches = {8};
  c.options.schedules = {plan::ScheduleKind::one_f_one_b};
  const int64_t plain = c.run().best.front().candidate.step_ns;
  for (const auto schedule : {plan::ScheduleKind::interleaved, plan::ScheduleKind::eager_one_f_one_b}) {
    c.options.schedules = {plan::ScheduleKind::one_f_one_b, schedule};
    const auto result = c.run();
    EXPECT_LE(result.best.front().candidate.step_ns, plain) << plan::name_of(schedule);
    bool met = false;
    for (const Ranked& ranked : result.best) {
      const auto& plan = ranked.candidate.plan;
      met = met || plan.schedule == schedule;
      const auto faults = plan::faults_of(plan, c.model, 2);
      EXPECT_TRUE(faults.empty()) << plan::name_of(schedule) << ": " << faults.front();
      EXPECT_EQ(plan::plan_from_toml(plan::to_toml(plan, c.model), "plan.toml", c.model), plan);
    }
    EXPECT_TRUE(met) << plan::name_of(schedule);
  }
}

TEST(Search, ReplaysWinnersAsGpipeOnlyWhereItIsOffered) {
  Case c(3, 2, 1, 0);
  c.options.axes = {};
  c.options.schedules = {plan::ScheduleKind::gpipe};
  const auto gpipe = c.run();
  ASSERT_FALSE(gpipe.best.empty());
  EXPECT_EQ(gpipe.best.front().candidate.plan.schedule, plan::ScheduleKind::gpipe);
  c.options.schedules = {plan::ScheduleKind::one_f_one_b};
  const auto alternating = c.run();
  EXPECT_EQ(alternating.best.front().candidate.plan.schedule, plan::ScheduleKind::one_f_one_b);
  c.options.schedules = {plan::ScheduleKind::one_f_one_b, plan::ScheduleKind::gpipe};
  EXPECT_LE(c.run().best.front().candidate.step_ns,
            std::min(gpipe.best.front().candidate.step_ns, alternating.best.front().candidate.step_ns));
}

}  // namespace
}  // namespace galvatron::search
