// Prices of communication against hand-computed rings.
#include "cost/hardware_price.hpp"

#include <gtest/gtest.h>

#include "core/errors.hpp"
#include "support/profiles.hpp"

namespace galvatron::cost {
namespace {

using core::CollectiveKind;

TEST(GroupShapes, CountNodesAndTheFullestOne) {
  EXPECT_EQ(shape_of({0, 1, 2, 3}, 4), (GroupShape{4, 1, 4}));
  EXPECT_EQ(shape_of({0, 4, 8}, 4), (GroupShape{3, 3, 1}));
  EXPECT_EQ(shape_of({2, 3, 4}, 4), (GroupShape{3, 2, 2}));
}

TEST(HardwarePrice, MeasuredCurvesComeFirst) {
  auto profile = test::round_profile(1, 4);
  profile.hardware.collectives[{CollectiveKind::all_reduce, {4, 1, 4}}].points = {{.x = 100, .seconds = 5},
                                                                                  {.x = 200, .seconds = 6}};
  const HardwarePrice price(profile.hardware);
  const Seconds inside = price.collective(CollectiveKind::all_reduce, {4, 1, 4}, 150);
  EXPECT_DOUBLE_EQ(inside.seconds, 5.5);
  EXPECT_DOUBLE_EQ(inside.modelled, 0);
  const Seconds beyond = price.collective(CollectiveKind::all_reduce, {4, 1, 4}, 300);
  EXPECT_DOUBLE_EQ(beyond.modelled, beyond.seconds) << "extrapolation is flagged";
  EXPECT_DOUBLE_EQ(price.collective(CollectiveKind::all_reduce, {1, 1, 1}, 1e9).seconds, 0);
}

TEST(HardwarePrice, RingInsideANode) {
  const auto profile = test::round_profile(1, 4);
  const HardwarePrice price(profile.hardware);
  const double piece = 1e-6 + 1e-9 * 1000;
  EXPECT_NEAR(price.collective(CollectiveKind::all_gather, {4, 1, 4}, 4000).seconds, 3 * piece, 1e-12);
  EXPECT_NEAR(price.collective(CollectiveKind::reduce_scatter, {4, 1, 4}, 4000).seconds, 3 * piece, 1e-12);
  const Seconds reduce = price.collective(CollectiveKind::all_reduce, {4, 1, 4}, 4000);
  EXPECT_NEAR(reduce.seconds, 6 * piece, 1e-12);
  EXPECT_DOUBLE_EQ(reduce.modelled, reduce.seconds);
}

TEST(HardwarePrice, HierarchicalRingAcrossNodes) {
  const auto profile = test::round_profile(2, 2);
  const HardwarePrice price(profile.hardware);
  const double across = 1e-5 + 1e-8 * 1000, inside = 1e-6 + 1e-9 * 2000;
  EXPECT_NEAR(price.collective(CollectiveKind::all_gather, {4, 2, 2}, 4000).seconds, across + inside, 1e-12);
}

TEST(HardwarePrice, LinksStandInForMessages) {
  auto profile = test::round_profile(2, 1);
  profile.hardware.transfer_across.points.clear();
  profile.hardware.links = {{.from = 0, .to = 1, .latency_seconds = 2e-5, .bytes_per_second = 1e8}};
  const HardwarePrice price(profile.hardware);
  EXPECT_NEAR(price.transfer(Tier::across, 1e6).seconds, 2e-5 + 1e-2, 1e-12);
}

TEST(HardwarePrice, WhatIsMissingIsNamed) {
  HardwareProfile nothing;
  const HardwarePrice price(nothing);
  EXPECT_THROW(price.transfer(Tier::across, 1), core::UserError);
  EXPECT_THROW(price.gemm_flops(), core::UserError);
  EXPECT_THROW(price.collective(CollectiveKind::all_reduce, {2, 1, 2}, 8), core::UserError);
}

TEST(Interference, TheNearestRowStandsForWhatWasNotMeasured) {
  using core::CollectiveKind;
  HardwareProfile profile;
  EXPECT_EQ(interference_of(profile, CollectiveKind::all_reduce, {4, 2, 2}, 1024), nullptr);
  profile.interference = {{CollectiveKind::all_reduce, {2, 1, 2}, 1024, 1.1, 1.2},
                          {CollectiveKind::all_reduce, {2, 1, 2}, 1 << 20, 1.3, 1.4},
                          {CollectiveKind::all_reduce, {8, 2, 4}, 1 << 20, 1.5, 1.6}};
  const auto compute = [&](CollectiveKind kind, GroupShape shape, double bytes) {
    const auto* row = interference_of(profile, kind, shape, bytes);
    return row == nullptr ? 0.0 : row->compute;
  };
  EXPECT_EQ(compute(CollectiveKind::all_gather, {2, 1, 2}, 1024), 0) << "another kind";
  EXPECT_EQ(compute(CollectiveKind::all_reduce, {2, 1, 2}, 10), 1.1) << "below the smallest size";
  EXPECT_EQ(compute(CollectiveKind::all_reduce, {2, 1, 2}, 31 * 1024), 1.1) << "nearer by ratio";
  EXPECT_EQ(compute(CollectiveKind::all_reduce, {2, 1, 2}, 33 * 1024), 1.3);
  EXPECT_EQ(compute(CollectiveKind::all_reduce, {4, 1, 4}, 1 << 20), 1.3) << "as many nodes";
  EXPECT_EQ(compute(CollectiveKind::all_reduce, {4, 2, 2}, 1024), 1.5) << "the shape before the size";
}

}  // namespace
}  // namespace galvatron::cost
