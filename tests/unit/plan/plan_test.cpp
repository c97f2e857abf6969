// Each reason for which a plan cannot be played, provoked alone and all together.
#include "plan/plan.hpp"

#include <gtest/gtest.h>

#include "core/format.hpp"
#include "plan/by_hand.hpp"
#include "support/models.hpp"

namespace galvatron::plan {
namespace {

const spec::ModelSpec model = test::small_model(3);

/// 4 ranks, 2 stages, tp 1, dp 2.
Plan good_plan() {
  UniformPlan wish;
  wish.world = 4;
  wish.batch = 8;
  wish.pp = 2;
  wish.microbatches = 4;
  return plan_by_hand(wish, model);
}

std::string faults_text(const Plan& plan, int64_t world = 4) {
  return core::join(faults_of(plan, model, world), "\n");
}

void expect_fault(const Plan& plan, const std::string& part) {
  EXPECT_NE(faults_text(plan).find(part), std::string::npos) << "got: " << faults_text(plan);
}

TEST(Faults, AGoodPlanHasNone) {
  EXPECT_EQ(faults_text(good_plan()), "");
}

TEST(Faults, WorldAndBatch) {
  Plan plan = good_plan();
  EXPECT_EQ(faults_text(plan, 6), "the plan is for 4 ranks, but there are 6");
  plan.microbatches = 3;
  expect_fault(plan, "3 micro-batches do not divide the batch of 8 samples");
  plan.microbatches = 0;
  expect_fault(plan, "0 micro-batches are not a positive number");
  plan.microbatches = 8;
  expect_fault(
      plan,
      "dp = 2 needs at least that many samples in a micro-batch, but it has 1 (8 samples / 8 micro-batches)");
}

TEST(Faults, EveryLayerOnExactlyOneStage) {
  Plan plan = good_plan();
  plan.stages = {{0, 3}, {5, 7}};
  expect_fault(plan, "stage 1 starts at layer 5, but layer 4 is next");
  plan.stages = {{0, 4}, {4, 7}};
  expect_fault(plan, "stage 1 starts at layer 4, but layer 5 is next");
  plan.stages = {{0, 3}, {4, 6}};
  expect_fault(plan, "the stages hold layers 0 … 6, but the model has layers 0 … 7");
  plan.stages = {{0, 7}, {8, 7}};
  expect_fault(plan, "stage 1 holds no layer");
  plan.stages = {};
  expect_fault(plan, "the plan has no stage");
  plan.stages = {{0, 2}, {3, 5}, {6, 7}};
  expect_fault(plan, "3 stages do not divide 4 ranks");
  plan = good_plan();
  plan.layers.pop_back();
  expect_fault(plan, "the plan has strategies for 7 layers, but the model has 8");
}

TEST(Faults, DegreesMultiplyToTheStage) {
  Plan plan = good_plan();
  for (auto& layer : plan.layers) layer.tp = 2;
  expect_fault(plan,
               "layer 0 (embedding): tp × sp × cp × dp = 2 × 1 × 1 × 2 = 4, but a stage has 2 ranks (4 ranks "
               "/ 2 stages)");
}

TEST(Faults, DegreesAndLevelsOutOfRange) {
  Plan plan = good_plan();
  plan.layers[3].dp = 0;
  expect_fault(plan, "layer 3 (blocks.1.attention): dp = 0 is not positive");
  plan = good_plan();
  plan.layers[2].zero = 4;
  expect_fault(plan, "layer 2 (blocks.0.mlp): ZeRO level 4 is not one of 0, 1, 2, 3");
}

TEST(Faults, LayoutsMayDiffer) {
  Plan plan = good_plan();
  plan.layers[4] = spec::LayerStrategy{.tp = 2};
  EXPECT_EQ(faults_text(plan), "");
}

TEST(Faults, ScheduleAndVirtualStages) {
  Plan plan = good_plan();
  plan.virtual_stages = 2;
  plan.stages = {{0, 1}, {2, 3}, {4, 5}, {6, 7}};
  expect_fault(plan, "schedule '1f1b' plays one stage per rank, not 2 virtual stages; 'interleaved' does");
  plan.schedule = ScheduleKind::interleaved;
  EXPECT_EQ(faults_text(plan), "");
  EXPECT_EQ(plan.pipeline_ranks(), 2);
  EXPECT_EQ(plan.ranks_per_stage(), 2);
  EXPECT_EQ(plan.first_rank_of_stage(2), 0) << "the third stage is the first rank's second";
  EXPECT_EQ(plan.first_rank_of_stage(3), 2);
  plan.microbatches = 1;
  expect_fault(plan, "needs a number of micro-batches that 2 pipeline ranks divide, not 1");
  plan.virtual_stages = 3;
  expect_fault(plan, "4 stages are not a multiple of virtual_stages = 3");
  plan.virtual_stages = 0;
  expect_fault(plan, "virtual_stages = 0 is not positive");
  plan = good_plan();
  plan.schedule = ScheduleKind::interleaved;
  EXPECT_EQ(faults_text(plan), "") << "with one stage per rank it is 1f1b";
}

TEST(Faults, TiedEnds) {
  Plan plan = good_plan();
  plan.layers.front().zero = 1;
  expect_fault(plan, "embedding tp = 1, zero = 1; head tp = 1, zero = 0");
  plan.layers.back().zero = 1;
  EXPECT_EQ(faults_text(plan), "");
  plan.layers.front().zero = plan.layers.back().zero = 2;
  expect_fault(plan, "their ZeRO level must be 0 or 1, not 2");
}

TEST(Faults, TheLayersOwnReasonIsPassedOn) {
  UniformPlan wish;
  wish.world = 3;
  wish.batch = 6;
  Plan plan = plan_by_hand(wish, model);
  for (auto& layer : plan.layers) layer = spec::LayerStrategy{.tp = 3};
  const auto faults = faults_of(plan, model, 3);
  ASSERT_GE(faults.size(), 2u) << "neither 4 heads nor 128 columns divide by 3";
  EXPECT_NE(core::join(faults, "\n").find("layer 1 (blocks.0.attention): "), std::string::npos);
}

TEST(Faults, AllAtOnce) {
  Plan plan = good_plan();
  plan.microbatches = 3;
  plan.stages = {{0, 3}, {4, 6}};
  plan.layers[2].zero = 9;
  EXPECT_EQ(faults_of(plan, model, 5).size(), 4u) << faults_text(plan, 5);
}

}  // namespace
}  // namespace galvatron::plan
