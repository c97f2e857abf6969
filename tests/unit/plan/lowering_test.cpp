// What a rank plays under plans whose layouts differ and whose ranks hold several stages.
#include "plan/lowering.hpp"

#include <gtest/gtest.h>

#include "plan/by_hand.hpp"
#include "support/models.hpp"

namespace galvatron::plan {
namespace {

const spec::ModelSpec model = test::small_model(3);
const program::NoWorkspace no_workspace;

/// 4 ranks, 2 stages of 4 layers, dp 2.
Plan two_stages() {
  UniformPlan wish;
  wish.world = 4;
  wish.batch = 8;
  wish.microbatches = 4;
  wish.stage_layers = {4, 4};
  return plan_by_hand(wish, model);
}

std::vector<int64_t> layers_of(const std::vector<FlowItem>& flow) {
  std::vector<int64_t> layers;
  for (const auto& item : flow) layers.push_back(item.layer);
  return layers;
}

TEST(Flow, TransitionsStandBetweenDifferentLayouts) {
  constexpr auto moves = FlowItem::transition;
  Plan plan = two_stages();
  EXPECT_EQ(layers_of(flow_of(plan, 0)), (std::vector<int64_t>{0, 1, 2, 3}));
  plan.layers[2] = {.tp = 2};
  EXPECT_EQ(layers_of(flow_of(plan, 0)), (std::vector<int64_t>{0, 1, moves, 2, moves, 3}));
  EXPECT_EQ(layers_of(flow_of(plan, 1)), (std::vector<int64_t>{4, 5, 6, 7}));
  plan.layers[3] = {.tp = 2};
  EXPECT_EQ(layers_of(flow_of(plan, 0)), (std::vector<int64_t>{0, 1, moves, 2, 3}));
  EXPECT_EQ(layers_of(flow_of(plan, 1)), (std::vector<int64_t>{moves, 4, 5, 6, 7}))
      << "the message comes in the sender's layout";
}

TEST(Lowering, MessagesHaveTheSendersSize) {
  Plan plan = two_stages();
  plan.batch = 12;  // three samples: one and two of them with dp = 2, all of them with tp = 2
  plan.layers[3] = {.tp = 2};
  for (int64_t member = 0; member < 2; ++member) {
    const auto sender = lower_stage(plan, model, member, core::DType::f32, no_workspace),
               receiver = lower_stage(plan, model, 2 + member, core::DType::f32, no_workspace);
    EXPECT_EQ(sender.chunks[0].output.rows, 3 * model.seq / 2);
    EXPECT_EQ(receiver.chunks[0].input.rows, 3 * model.seq / 2);
    EXPECT_EQ(receiver.layers[0].layer, FlowItem::transition);
    EXPECT_EQ(receiver.layers[1].program->value(receiver.layers[1].program->input).rows,
              (member == 0 ? 2 : 1) * model.seq);
  }
}

TEST(Lowering, EveryChunkHasItsOwnSlots) {
  UniformPlan wish;
  wish.world = 2;
  wish.batch = 8;
  wish.pp = 2;
  wish.microbatches = 4;
  wish.schedule = ScheduleKind::interleaved;
  wish.virtual_stages = 2;
  const auto plan = plan_by_hand(wish, model);
  ASSERT_EQ(plan.stages.size(), 4u);
  const auto first = lower_stage(plan, model, 0, core::DType::f32, no_workspace);
  ASSERT_EQ(first.chunks.size(), 2u);
  EXPECT_EQ(first.chunks[0].stage, 0);
  EXPECT_EQ(first.chunks[1].stage, 2);
  EXPECT_FALSE(first.chunks[0].input.present());
  EXPECT_TRUE(first.chunks[1].input.present());
  int64_t saved = 0;
  for (size_t c = 0; c < 2; ++c) {
    const auto& chunk = first.chunks[c];
    EXPECT_EQ(chunk.slots, in_flight(first.lane, static_cast<int32_t>(c)));
    EXPECT_EQ(chunk.slots_offset, saved);
    saved += chunk.slots * chunk.slot_bytes;
  }
  EXPECT_EQ(first.arena.saved_bytes, saved);
  const auto last = lower_stage(plan, model, 1, core::DType::f32, no_workspace);
  EXPECT_TRUE(last.chunks[0].output.present());
  EXPECT_FALSE(last.chunks[1].output.present()) << "the last stage ends the model";
}

}  // namespace
}  // namespace galvatron::plan
