// The same plan twice gives the same bits, and what several ranks hold of one tensor stays one tensor, bit
// for bit: replicated parameters, their moments, and a tied table on the first and the last stage.

#include <bit>
#include <cmath>
#include <limits>

#include "support/plan_job.hpp"
#include "support/tolerances.hpp"

namespace galvatron::testing {
namespace {

class PlanCopies : public PlanJob {
 protected:
  std::vector<std::pair<plan::Plan, spec::ModelSpec>> plans() {
    std::vector<std::pair<plan::Plan, spec::ModelSpec>> list;
    const auto model = variant_model({});
    for (const auto& plan : pairwise_cover(uniform_plans(model, world().size(), 12, {1, 2, 4})))
      list.emplace_back(plan, model);
    for (uint64_t i = 0; i < 16; ++i) {
      const auto other = variant_model(variants()[i % variants().size()]);
      list.emplace_back(mixed_plan(other, world().size(), 10, test_seed() + 2, i), other);
    }
    return list;
  }
};

/// Bits, so that NaN (held elsewhere) equals NaN and −0 is not 0.
std::vector<uint64_t> bits(const std::vector<double>& values) {
  std::vector<uint64_t> list;
  for (const auto value : values) list.push_back(std::bit_cast<uint64_t>(value));
  return list;
}

/// Compares every element's copies over all ranks; how many elements have more than one.
int64_t expect_equal_copies(comm::World& world, const std::string& name, const std::vector<double>& mine) {
  constexpr auto nowhere = std::numeric_limits<int64_t>::min();
  std::vector<int64_t> most, least, holders;
  for (const auto value : mine) {
    const bool held = !std::isnan(value);
    // A float's bits, so that the negative of every pattern exists.
    const auto pattern = int64_t{std::bit_cast<int32_t>(static_cast<float>(value))};
    most.push_back(held ? pattern : nowhere);
    least.push_back(held ? -pattern : nowhere);
    holders.push_back(held ? 1 : 0);
  }
  world.all_reduce(most, core::ReduceOp::max);
  world.all_reduce(least, core::ReduceOp::max);
  world.all_reduce(holders, core::ReduceOp::sum);
  int64_t copied = 0, different = 0;
  for (size_t i = 0; i < mine.size(); ++i) {
    EXPECT_GT(holders[i], 0) << name << ", element " << i << " is held by nobody";
    copied += holders[i] > 1 ? 1 : 0;
    different += most[i] != -least[i] ? 1 : 0;
  }
  EXPECT_EQ(different, 0) << "elements of " << name << " differ between their holders";
  return copied;
}

void expect_equal_runs(const RunResult& first, const RunResult& second) {
  EXPECT_EQ(bits(first.losses), bits(second.losses));
  EXPECT_EQ(bits(first.gradient_norms), bits(second.gradient_norms));
  EXPECT_EQ(bits({first.evaluation}), bits({second.evaluation}));
  for (const auto& [name, values] : first.weights)
    EXPECT_EQ(bits(values), bits(second.weights.at(name))) << name;
}

TEST_F(PlanCopies, TheSamePlanTwiceGivesTheSameBitsOnAllHoldersOfATensor) {
  const auto all = plans();
  int64_t copied = 0;
  bool tied_stages = false;
  for (const auto& [plan, model] : all) {
    SCOPED_TRACE(describe(plan));
    const auto run = run_plan(world(), plan, model, adamw_run(6));
    expect_equal_runs(run, run_plan(world(), plan, model, adamw_run(6)));
    for (const auto& [name, values] : run.held) {
      const auto copies = expect_equal_copies(world(), name, values);
      copied += copies;
      if (name == "model/embedding.tokens.weight" && model.tied() && plan.stages.size() > 1) {
        EXPECT_EQ(copies, static_cast<int64_t>(values.size())) << "the last stage holds the table too";
        tied_stages = true;
      }
    }
  }
  EXPECT_TRUE(copied > 0 || world().size() == 1) << "no plan had copies to compare";
  EXPECT_TRUE(tied_stages || world().size() == 1) << "no plan had a table on two stages";
  say("played twice, copies compared", all.size(), all.size());
}

/// A validation set that ends inside a micro-batch: samples that do not exist count nothing, wherever they
/// fall.
TEST_F(PlanCopies, ValidationLossIsThatOfOneRankInEveryLayout) {
  const auto all = plans();
  for (const auto& [plan, model] : all) {
    SCOPED_TRACE(describe(plan));
    const auto alone = comm::make_dry_world(0, 1, 1);
    const auto single = uniform_plan(model, 1, 1, 1, 0, spec::Recompute::none, plan.batch, 1);
    for (const int64_t samples : {int64_t{1}, plan.batch - 1, plan.batch}) {
      const auto expected = evaluate_initial(*alone, single, model, samples);
      const auto got = evaluate_initial(world(), plan, model, samples);
      EXPECT_NEAR(got, expected, tolerance::initial_evaluation * expected)
          << samples << " samples of " << plan.batch;
      EXPECT_GT(expected / static_cast<double>(samples * model.seq), 1.0) << "a loss per token";
    }
  }
}

}  // namespace
}  // namespace galvatron::testing
