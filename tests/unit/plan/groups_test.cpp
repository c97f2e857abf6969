// Groups of a plan, from plan data alone: some ranks' are those of all ranks that hold them.
#include "plan/groups.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "plan/by_hand.hpp"
#include "support/models.hpp"

namespace galvatron::plan {
namespace {

Plan plan_of(const spec::ModelSpec& model, int64_t pp, int64_t tp, Placement placement) {
  UniformPlan wish;
  wish.world = 8;
  wish.batch = 8;
  wish.pp = pp;
  wish.tp = tp;
  wish.placement = placement;
  return plan_by_hand(wish, model);
}

TEST(Groups, OfSomeRanksAreThoseOfAllThatHoldThem) {
  const auto model = test::small_model(3);
  for (const auto placement : all_placements)
    for (const auto& [pp, tp] : {std::pair{1, 1}, {1, 4}, {2, 2}, {4, 1}, {8, 1}}) {
      auto plan = plan_of(model, pp, tp, placement);
      // The last layer but one is split in another way, so there are transitions and groups of their own.
      auto& odd = plan.layers[plan.layers.size() - 2];
      std::swap(odd.tp, odd.dp);
      const auto all = groups_of(plan, model);
      for (int64_t rank = 0; rank < plan.world; ++rank) {
        std::vector<spec::RankGroup> holding;
        for (const auto& group : all)
          if (std::find(group.ranks.begin(), group.ranks.end(), rank) != group.ranks.end())
            holding.push_back(group);
        EXPECT_EQ(groups_of(plan, model, {{rank}}), holding)
            << "rank " << rank << ", pp " << pp << ", tp " << tp << ", " << name_of(placement);
      }
    }
}

TEST(Groups, FollowThePlacement) {
  const auto model = test::small_model(3);
  const auto has = [&](const Plan& plan, core::TrafficClass traffic, std::vector<int> ranks) {
    const auto groups = groups_of(plan, model);
    return std::find(groups.begin(), groups.end(), spec::RankGroup{traffic, std::move(ranks)}) !=
           groups.end();
  };
  const auto major = plan_of(model, 2, 2, Placement::stage_major);
  const auto minor = plan_of(model, 2, 2, Placement::stage_minor);
  EXPECT_TRUE(has(major, core::TrafficClass::layer, {0, 1}));
  EXPECT_TRUE(has(minor, core::TrafficClass::layer, {0, 2}));
  EXPECT_TRUE(has(major, core::TrafficClass::pipeline, {0, 4}));
  EXPECT_TRUE(has(minor, core::TrafficClass::pipeline, {0, 1}));
  // The table that both stages hold: its replicas on the first and on the last one.
  EXPECT_TRUE(has(major, core::TrafficClass::gradient, {0, 2, 4, 6}));
  EXPECT_TRUE(has(minor, core::TrafficClass::gradient, {0, 4, 1, 5}));
}

}  // namespace
}  // namespace galvatron::plan
