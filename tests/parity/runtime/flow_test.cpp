// How activations flow changes nothing: every schedule with any number of micro-batches and stages per rank,
// and layers whose layouts differ from their neighbours', equal one rank. Messages that travel while a rank
// computes bring the same bits as messages that are waited for.

#include <bit>

#include "spec/reshard.hpp"
#include "support/layouts.hpp"
#include "support/plan_job.hpp"

namespace galvatron::testing {
namespace {

class PlanFlow : public PlanJob {};

TEST_F(PlanFlow, SchedulesEqualOneRank) {
  const auto model = variant_model({});
  size_t played = 0;
  for (const int64_t batch : {12, 10}) {  // 10: uneven shares of samples
    const auto all = schedule_plans(model, world().size(), batch);
    for (const auto& plan : all) check().gradients(plan, model);
    played += all.size();
  }
  say("schedules, gradients and SGD", played, played);
}

/// Which ranks of the world a stage has changes nothing either.
TEST_F(PlanFlow, PlacementsEqualOneRank) {
  const size_t wanted = play_everything() ? 60 : 12;
  size_t played = 0;
  for (uint64_t i = 0; world().size() >= 4 && played < wanted; ++i) {
    const auto model = variant_model(variants()[i % variants().size()]);
    auto plan = mixed_plan(model, world().size(), 10, test_seed(), i);
    if (plan.pipeline_ranks() == 1 || plan.ranks_per_stage() == 1) continue;
    plan.placement = plan::Placement::stage_minor;
    check().gradients(plan, model);
    if (played % 4 == 0) check().training(plan, model);
    ++played;
  }
  say("mixed plans, stage-minor", played, played);
}

/// Every split, with ZeRO 1.
std::vector<spec::LayerStrategy> strategies_of(int32_t ranks) {
  auto all = splits_of(ranks);
  for (auto& strategy : all) strategy.zero = 1;
  return all;
}

/// Attention and mlp of a block in different layouts, every pair of them; seven samples, so that shares are
/// of unequal size.
TEST_F(PlanFlow, NeighboursInAnyTwoLayoutsEqualOneRank) {
  const auto model = variant_model({});
  const auto ranks = static_cast<int32_t>(world().size());
  std::vector<plan::Plan> all;
  for (const auto& a : strategies_of(ranks))
    for (const auto& b : strategies_of(ranks)) {
      auto plan = uniform_plan(model, 1, 1, ranks, 1, spec::Recompute::none, 14, 2);
      for (size_t i = 0; i < plan.layers.size(); ++i) plan.layers[i] = model.layers[i].kind == "mlp" ? b : a;
      if (!spec::same_layout(a, b) && plan::faults_of(plan, model, ranks).empty()) all.push_back(plan);
    }
  // Everything up to four ranks; beyond that one in five, all with GALVATRON_TEST_FULL.
  const size_t stride = ranks <= 4 || play_everything() ? 1 : 5;
  size_t played = 0;
  for (size_t i = 0; i < all.size(); i += stride, ++played) check().gradients(all[i], model);
  say("pairs of layouts", played, all.size());
}

std::vector<uint64_t> bits(const std::vector<double>& values) {
  std::vector<uint64_t> list;
  for (const auto value : values) list.push_back(std::bit_cast<uint64_t>(value));
  return list;
}

/// Plans that have something to overlap: schedules, every ZeRO level, a ring.
std::vector<plan::Plan> talkative_plans(const spec::ModelSpec& model, int32_t ranks) {
  std::vector<plan::Plan> plans;
  for (const auto& plan : schedule_plans(model, ranks, 12))
    if (plan.microbatches == 2 || plan.microbatches == 6) plans.push_back(plan);
  for (int32_t zero = 0; zero <= 3; ++zero) {
    plans.push_back(uniform_plan(model, 1, 1, ranks, zero, spec::Recompute::none, 12, 2));
    auto ring = plans.back();
    for (auto& layer : ring.layers) {
      layer.cp = ranks;
      layer.dp = 1;
    }
    if (plan::faults_of(ring, model, ranks).empty()) plans.push_back(ring);
  }
  return plans;
}

TEST_F(PlanFlow, OverlapChangesNoBit) {
  using runtime::Overlap;
  const auto model = variant_model({});
  const auto plans = talkative_plans(model, static_cast<int32_t>(world().size()));
  const runtime::OverlapSettings none{Overlap::off, Overlap::off, Overlap::off, Overlap::off};
  const runtime::OverlapSettings gradients{Overlap::off, Overlap::on, Overlap::off, Overlap::off};
  const runtime::OverlapSettings parameters{Overlap::on, Overlap::off, Overlap::on, Overlap::on};
  for (const auto& plan : plans) {
    SCOPED_TRACE(describe(plan));
    auto options = adamw_run(4);
    const auto on = run_plan(world(), plan, model, options);
    for (const auto& settings : {none, gradients, parameters}) {
      options.overlap = settings;
      const auto off = run_plan(world(), plan, model, options);
      EXPECT_EQ(bits(on.losses), bits(off.losses));
      EXPECT_EQ(bits(on.gradient_norms), bits(off.gradient_norms));
      EXPECT_EQ(bits({on.evaluation}), bits({off.evaluation}));
      for (const auto& [name, values] : on.weights)
        EXPECT_EQ(bits(values), bits(off.weights.at(name))) << name;
    }
  }
  say("with and without overlap", plans.size(), plans.size());
}

}  // namespace
}  // namespace galvatron::testing
