// Curves of real collectives: one per kind and shape, usable for interpolation, within their time.
#include "measure/collectives.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "comm/mpi/mpi_world.hpp"
#include "core/format.hpp"
#include "measure/sampler.hpp"
#include "mpi/measure/support.hpp"

namespace galvatron::measure {
namespace {

using test::Live;

CollectiveOptions small_options() {
  CollectiveOptions options;
  options.kinds.push_back(core::CollectiveKind::broadcast);
  options.sizes = geometric_sizes(1024, 65536, 8);
  options.iterations = 5;
  options.seconds_per_point = 0.01;
  return options;
}

TEST(Collectives, EveryKindAndShapeHasACurve) {
  Live live;
  const auto options = small_options();
  const auto sets = group_sets(live.nodes());
  cost::HardwareProfile profile;
  Budget budget(*live.world, 20);
  budget.begin("collectives", 1.0);
  const auto coverage = measure_collectives(*live.world, *live.device, sets, options, budget, profile);
  EXPECT_EQ(coverage.measured, coverage.wanted);
  EXPECT_EQ(profile.collectives.size(), sets.size() * options.kinds.size());
  std::string text;
  for (const auto& [key, curve] : profile.collectives) {
    const auto name = core::format("collective {} of {} ranks", static_cast<int>(key.kind), key.shape.ranks);
    ASSERT_EQ(curve.points.size(), options.sizes.size()) << name;
    for (size_t i = 0; i < curve.points.size(); ++i) {
      const auto& p = curve.points[i];
      EXPECT_GT(p.seconds, 0) << name;
      EXPECT_TRUE(std::isfinite(p.seconds)) << name;
      EXPECT_LE(p.minimum, p.p95) << name;
      EXPECT_GE(p.x, static_cast<double>(options.sizes[i])) << name;
      EXPECT_EQ(static_cast<int64_t>(p.x) % (4 * key.shape.ranks), 0) << name << ": parts are equal";
      if (i > 0) {
        EXPECT_LT(curve.points[i - 1].x, p.x) << name;
      }
      text += core::format("{} {}\n", p.x, p.seconds);
    }
  }
  EXPECT_TRUE(live.same_everywhere(text)) << "ranks hold different curves";
}

TEST(Collectives, TheFormOfEverySizeIsOneThatTheGroupCanHave) {
  Live live;
  live.world = comm::mpi::make_world([](int rank) { return rank / 2; });  // two ranks to a node
  const auto nodes = nodes_of_ranks(*live.world);
  cost::HardwareProfile profile;
  Budget budget(*live.world, 20);
  budget.begin("collectives", 1.0);
  measure_collectives(*live.world, *live.device, group_sets(nodes), small_options(), budget, profile);
  EXPECT_TRUE(std::is_sorted(profile.forms.begin(), profile.forms.end()));
  std::string text;
  for (const auto& [ranks, on_nodes, per_node, row] : profile.forms) {
    const auto name = core::format("{} {} of {} ranks on {} nodes from {}", core::name_of(row.form),
                                   core::name_of(row.kind), ranks, on_nodes, row.from_bytes);
    EXPECT_EQ(core::form_fault(row.form, row.kind, ranks, on_nodes, per_node), "") << name;
    const auto curve = profile.collectives.find({row.kind, {ranks, on_nodes, per_node}});
    ASSERT_NE(curve, profile.collectives.end()) << name;
    const auto& points = curve->second.points;
    EXPECT_TRUE(row.from_bytes == 0 ||
                std::any_of(points.begin(), points.end(),
                            [&](const auto& p) { return p.x == static_cast<double>(row.from_bytes); }))
        << name << ": not a measured size";
    text += name + "\n";
  }
  EXPECT_TRUE(live.same_everywhere(text)) << "ranks choose different forms";
}

TEST(Collectives, KeepToTheBudget) {
  Live live;
  auto options = small_options();
  options.sizes = geometric_sizes(1024, 4 << 20, 4);
  options.iterations = 1000000;
  options.seconds_per_point = 10;
  cost::HardwareProfile profile;
  Budget budget(*live.world, 0.4);
  budget.begin("collectives", 1.0);
  const double begin = now_seconds();
  measure_collectives(*live.world, *live.device, group_sets(live.nodes()), options, budget, profile);
  // Slack: the minimum of samples is taken of every point that was begun.
  EXPECT_LT(now_seconds() - begin, 0.4 + 5.0);
}

TEST(Collectives, WithoutTimeNothingIsMeasured) {
  Live live;
  cost::HardwareProfile profile;
  Budget budget(*live.world, 0);
  budget.begin("collectives", 1.0);
  const auto coverage = measure_collectives(*live.world, *live.device, group_sets(live.nodes()),
                                            small_options(), budget, profile);
  EXPECT_EQ(coverage.measured, 0);
  EXPECT_TRUE(profile.collectives.empty());
}

}  // namespace
}  // namespace galvatron::measure
