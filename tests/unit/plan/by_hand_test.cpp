// Uniform plans: how layers are spread, what is filled in, what is refused.
#include "plan/by_hand.hpp"

#include <gtest/gtest.h>

#include <numeric>

#include "core/errors.hpp"
#include "support/models.hpp"

namespace galvatron::plan {
namespace {

/// Blocks of a stage: its layers without the embedding and the head, in pairs.
std::vector<int64_t> sizes_of(const std::vector<StageLayers>& stages) {
  std::vector<int64_t> sizes;
  for (const auto& stage : stages) sizes.push_back(stage.size());
  return sizes;
}

TEST(EvenStages, PlaceEveryLayerOnce) {
  for (const auto& [blocks, stages] :
       {std::pair{30, 4}, {7, 2}, {61, 16}, {40, 16}, {4, 5}, {4, 10}, {1, 1}}) {
    const auto model = test::small_model(blocks);
    const auto even = even_stages(model, stages);
    ASSERT_EQ(static_cast<int>(even.size()), stages);
    int64_t next = 0;
    for (const auto& stage : even) {
      EXPECT_EQ(stage.first, next) << blocks << " blocks on " << stages << " stages";
      EXPECT_GE(stage.size(), 1);
      next = stage.last + 1;
    }
    EXPECT_EQ(next, model.size()) << blocks << " blocks on " << stages << " stages";
  }
}

TEST(EvenStages, KeepBlocksWhole) {
  EXPECT_EQ(sizes_of(even_stages(test::small_model(7), 2)), (std::vector<int64_t>{9, 7}));
  EXPECT_EQ(sizes_of(even_stages(test::small_model(4), 1)), (std::vector<int64_t>{10}));
  EXPECT_EQ(sizes_of(even_stages(test::small_model(1), 4)), (std::vector<int64_t>{1, 1, 1, 1}));
}

std::string refusal(const UniformPlan& wish, const spec::ModelSpec& model) {
  try {
    plan_by_hand(wish, model);
  } catch (const core::UserError& error) {
    return error.what();
  }
  return "none";
}

TEST(ByHand, FillsInWhatIsLeftOpen) {
  const auto model = test::small_model(3);
  UniformPlan wish;
  wish.world = 6;
  wish.batch = 24;
  wish.pp = 3;
  wish.zero = 2;
  const Plan plan = plan_by_hand(wish, model);
  EXPECT_EQ(plan.layers[1].dp, 2);
  EXPECT_EQ(plan.layers[1].zero, 2);
  EXPECT_EQ(plan.layers.front().zero, 1) << "a tied table on two stages stays at ZeRO 1";
  EXPECT_EQ(plan.layers.back().zero, 1);
  EXPECT_EQ(plan.microbatches, 12);
}

TEST(ByHand, RecomputesWhereItHelps) {
  const auto model = test::small_model(2);
  UniformPlan wish;
  wish.batch = 4;
  wish.recompute = spec::Recompute::full;
  const Plan plan = plan_by_hand(wish, model);
  for (int64_t layer = 0; layer < model.size(); ++layer) {
    const auto i = static_cast<size_t>(layer);
    const bool block = model.layers[i].kind == "attention" || model.layers[i].kind == "mlp";
    EXPECT_EQ(plan.layers[i].recompute, block ? spec::Recompute::full : spec::Recompute::none)
        << model.names[i];
  }
}

TEST(ByHand, RefusesWithNumbers) {
  const auto model = test::small_model(3);
  UniformPlan wish;
  wish.world = 6;
  wish.batch = 24;
  wish.pp = 4;
  EXPECT_NE(refusal(wish, model).find("pp × tp × sp × cp = 4 × 1 × 1 × 1 = 4 does not divide the 6 ranks"),
            std::string::npos)
      << refusal(wish, model);
  wish.pp = 2;
  wish.dp = 2;
  EXPECT_NE(refusal(wish, model).find("= 2 × 1 × 1 × 1 × 2 = 4 does not equal the 6 ranks"),
            std::string::npos)
      << refusal(wish, model);
}

TEST(ByHand, TakesAnExplicitList) {
  const auto model = test::small_model(3);
  UniformPlan wish;
  wish.world = 2;
  wish.batch = 4;
  wish.stage_layers = {1, 7};
  EXPECT_EQ(plan_by_hand(wish, model).stages, (std::vector<StageLayers>{{0, 0}, {1, 7}}));
  wish.stage_layers = {4, 3};
  EXPECT_NE(refusal(wish, model).find("stage_layers adds up to 7, but the model has 8 layers"),
            std::string::npos);
  wish.stage_layers = {8, 0};
  EXPECT_NE(refusal(wish, model).find("every stage needs a layer"), std::string::npos);
  wish.stage_layers = {4, 4};
  wish.pp = 3;
  EXPECT_NE(refusal(wish, model).find("stage_layers has 2 stages, but pp = 3"), std::string::npos);
}

TEST(ByHand, SeveralStagesOnARank) {
  const auto model = test::small_model(3);
  UniformPlan wish;
  wish.world = 2;
  wish.batch = 12;
  wish.pp = 2;
  wish.virtual_stages = 3;
  wish.schedule = ScheduleKind::interleaved;
  const auto plan = plan_by_hand(wish, model);
  EXPECT_EQ(plan.stages.size(), 6u);
  EXPECT_EQ(plan.microbatches, 6) << "the largest count up to 4 · pp that two ranks divide";
  wish.stage_layers = {2, 1, 1, 1, 1, 2};
  EXPECT_EQ(plan_by_hand(wish, model).pipeline_ranks(), 2);
  wish.stage_layers = {4, 4};
  EXPECT_NE(refusal(wish, model).find("stage_layers has 2 stages, but pp = 2, virtual_stages = 3"),
            std::string::npos)
      << refusal(wish, model);
  wish.stage_layers = {};
  wish.schedule = ScheduleKind::one_f_one_b;
  EXPECT_NE(refusal(wish, model).find("schedule '1f1b' plays one stage per rank, not 3 virtual stages"),
            std::string::npos)
      << refusal(wish, model);
  wish.virtual_stages = 5;
  EXPECT_NE(refusal(wish, model).find("pp = 2 × 5 virtual stages, but the model has 8 layers"),
            std::string::npos)
      << refusal(wish, model);
}

}  // namespace
}  // namespace galvatron::plan
