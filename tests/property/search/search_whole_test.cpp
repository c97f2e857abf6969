// Whole searches on small models and a made-up machine: batches that grow, placements, attempts that are
// stopped.
#include <gtest/gtest.h>

#include <algorithm>

#include "search/deal.hpp"
#include "search/report.hpp"
#include "support/keeping_queue.hpp"
#include "support/search_case.hpp"

namespace galvatron::search {
namespace {

using test_case::Case;
using test_case::no_workspace;
using test_case::roomy_bytes;

TEST(Search, TheLargestBatchThatPaysBeatsEveryFixedOne) {
  Case c(1, 1, 2, 0);
  c.options.batches = {4};
  c.cluster.memory_bytes = roomy_bytes(c) * 8 / 10;
  c.options.batches.clear();
  const auto grown = c.run();
  ASSERT_FALSE(grown.best.empty());
  const auto rate = [](const SearchResult& result) {
    const auto& best = result.best.front().candidate;
    return static_cast<double>(best.plan.batch) / static_cast<double>(best.step_ns);
  };
  for (const int64_t batch : {1, 2, 3, 4, 8, 12, 16, 32}) {
    c.options.batches = {batch};
    const auto fixed = c.run();
    if (!fixed.best.empty()) {
      EXPECT_GE(rate(grown) * 1.01, rate(fixed)) << "batch " << batch;
    }
  }
  // Where nothing fits, one sample is what comes nearest.
  c.options.batches.clear();
  c.cluster.memory_bytes = 1000;
  const auto none = c.run();
  ASSERT_TRUE(none.infeasible.has_value());
  EXPECT_EQ(none.infeasible->nearest.plan.batch, 1);
}

/// Two nodes with links ten times slower than those inside. Long samples and small layers send more between
/// stages than within; short samples and large layers the other way round.
TEST(Search, PlacesStagesWhereTheirTrafficIsCheap) {
  using plan::Placement;
  const auto best = [](int64_t seq, int64_t hidden, std::vector<Placement> placements) {
    Case c(2, 2, 4, 0);
    c.model = test::small_model(2, true, hidden);
    for (auto& layer : c.model.layers) layer.dims.seq = seq;
    c.model.seq = seq;
    c.options.batches = {16};
    c.options.max_pp = 2;
    c.options.axes = {spec::Axis::dp};
    c.options.placements = std::move(placements);
    c.options.overlap = {false, false, false};  // nothing hides the traffic inside a stage
    c.profile.hardware.gemm_flops = {1e12};
    c.profile.hardware.memory_bytes_per_second = {1e12};
    auto result = c.run();
    // One stage has no placement: only plans of two are compared here.
    std::vector<Candidate> two;
    for (const Ranked& ranked : result.best)
      if (ranked.candidate.plan.stages.size() == 2) two.push_back(ranked.candidate);
    return two;
  };
  const std::vector<Placement> both(plan::all_placements.begin(), plan::all_placements.end());
  for (const auto& [seq, hidden, wanted] :
       {std::tuple{512, 16, Placement::stage_minor}, {16, 128, Placement::stage_major}}) {
    const auto free = best(seq, hidden, both);
    ASSERT_FALSE(free.empty()) << seq;
    EXPECT_EQ(free.front().plan.placement, wanted) << "seq " << seq << ", hidden " << hidden;
    for (const Placement only : both) {
      const auto one = best(seq, hidden, {only});
      ASSERT_FALSE(one.empty());
      if (only == wanted) {
        EXPECT_EQ(one.front().step_ns, free.front().step_ns);
      } else {
        EXPECT_GT(one.front().step_ns, free.front().step_ns);
      }
    }
  }
}

TEST(Search, PlansFitWithWhatTheirGroupsHold) {
  Case c(2, 1, 4, 0);
  const int64_t roomy = roomy_bytes(c);
  c.profile.hardware.reserve_units = {roomy / 10, 0, roomy / 50};
  const auto group_bytes = [](const plan::StagePrediction& stage) {
    for (const auto& term : stage.memory_terms)
      if (term.name == "groups") return term.amount;
    return 0.0;
  };
  int64_t before = 0;
  for (int64_t percent = 140; percent >= 40; percent -= 10) {
    c.cluster.memory_bytes = roomy * percent / 100;
    const auto result = c.run();
    if (result.best.empty()) {
      ASSERT_TRUE(result.infeasible.has_value()) << percent << " %";
      EXPECT_GT(result.infeasible->short_bytes, 0) << percent << " %";
      continue;
    }
    for (const Ranked& ranked : result.best) {
      const auto& candidate = ranked.candidate;
      EXPECT_LE(candidate.memory_bytes, c.cluster.memory_bytes) << percent << " %";
      for (const auto& stage : candidate.plan.predictions) {
        EXPECT_LE(stage.memory_bytes, candidate.memory_bytes);
        if (candidate.plan.ranks_per_stage() > 1) {
          EXPECT_GE(group_bytes(stage), static_cast<double>(roomy / 10 + roomy / 50)) << percent << " %";
        }
      }
    }
    const auto step = result.best.front().candidate.step_ns;
    EXPECT_GE(step, before) << "less memory, " << percent << " %, and yet faster";
    before = step;
  }
  EXPECT_GT(before, 0) << "something fits";
}

TEST(Search, LeavesRoomForCopiesWhereAnyPlanDoes) {
  Case c(2, 1, 4, 0);
  const auto least = [&](bool checkpoints) {
    c.options.overlap.checkpoints = checkpoints;
    c.cluster.memory_bytes = 1;
    const auto none = c.run();
    EXPECT_TRUE(none.infeasible.has_value());
    return none.infeasible ? none.infeasible->short_bytes + 1 : 0;
  };
  const int64_t bare = least(false);
  EXPECT_EQ(least(true), bare) << "the nearest miss is one without copies";
  bool with = false, without = false;
  for (int64_t percent = 100; percent <= 300; percent += 20) {
    c.cluster.memory_bytes = bare * percent / 100;
    const auto result = c.run();
    if (result.best.empty()) continue;
    const auto& best = result.best.front().candidate;
    EXPECT_LE(best.memory_bytes, c.cluster.memory_bytes) << percent << " %";
    const bool copies = cost::copy_bytes(best.plan.predictions.front()) > 0;
    EXPECT_GE(copies, with) << percent << " %: there was room for copies in less memory";
    with = copies;
    without |= !copies;
  }
  EXPECT_TRUE(with);
  EXPECT_TRUE(without);
}

TEST(Search, GoesOnAfterAnyStopToTheSamePlans) {
  Case c(1, 1, 2, 0);
  for (const int64_t percent : {85, 1}) {
    c.cluster.memory_bytes = roomy_bytes(c) * percent / 100;
    const auto text_of = [&](core::WorkQueue& queue) {
      const auto result = search(c.model, c.cluster, c.profile, c.options, no_workspace, queue);
      std::string text = ranking_table(result) + space_tree(result.space, Kinds(c.model));
      for (const Ranked& ranked : result.best) text += plan::to_toml(ranked.candidate.plan, c.model);
      return text + (result.infeasible ? infeasible_text(*result.infeasible) : "");
    };
    core::LocalQueue alone;
    const std::string whole = text_of(alone);
    for (const int stop_after : {3, 10}) {
      std::vector<std::string> kept;
      std::string text;
      int attempts = 0;
      for (; text.empty() && attempts < 1000; ++attempts) {
        test::KeepingQueue queue(alone, kept, stop_after);
        try {
          text = text_of(queue);
        } catch (const Stopped&) {
        }
      }
      EXPECT_GT(attempts, 1) << "stopped at job " << stop_after << ", " << percent << " %";
      EXPECT_EQ(text, whole) << "stopped at job " << stop_after << ", " << percent << " %";
    }
  }
}

}  // namespace
}  // namespace galvatron::search
