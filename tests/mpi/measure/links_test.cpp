// The link map over real messages: complete, plausible, the same on every rank, within its time; and a
// damaged message is found and its link named on every rank.
#include "measure/links.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "core/errors.hpp"
#include "core/format.hpp"
#include "measure/ping.hpp"
#include "mpi/measure/support.hpp"

namespace galvatron::measure {
namespace {

using test::Damage;
using test::DamagingCommunicator;
using test::Live;

LinkOptions small_options() {
  LinkOptions options;
  options.sizes = geometric_sizes(8, 32768, 16);
  options.small_iterations = 20;
  options.large_iterations = 5;
  options.seconds_per_point = 0.005;
  return options;
}

std::string map_text(const LinkMap& map) {
  std::string text;
  for (const auto& link : map.links)
    text += core::format("{} {} {} {} {}\n", link.from, link.to, link.isolated.size(),
                         link.isolated_fit.bytes_per_second, link.loaded_fit.latency_seconds);
  return text;
}

void expect_usable(const std::vector<LinkPoint>& points, const std::vector<int64_t>& sizes,
                   const std::string& link) {
  ASSERT_EQ(points.size(), sizes.size()) << link;
  for (size_t i = 0; i < points.size(); ++i) {
    EXPECT_EQ(points[i].bytes, sizes[i]) << link;
    EXPECT_GT(points[i].seconds.median, 0) << link << ", " << sizes[i] << " bytes";
    EXPECT_TRUE(std::isfinite(points[i].seconds.median)) << link << ", " << sizes[i] << " bytes";
    EXPECT_LE(points[i].seconds.minimum, points[i].seconds.median) << link;
    EXPECT_LE(points[i].seconds.median, points[i].seconds.p95) << link;
    EXPECT_GE(points[i].seconds.samples, 3) << link;
  }
}

TEST(Links, EveryOrderedPairIsThere) {
  Live live;
  const auto all = live.everyone();
  const auto options = small_options();
  Budget budget(*live.world, 20);
  budget.begin("links", 1.0);
  const auto map = measure_links(*live.world, *all, *live.device, options, budget);
  const int n = live.world->size();
  EXPECT_EQ(map.pairs, n * (n - 1) / 2);
  EXPECT_EQ(map.measured_pairs, map.pairs);
  std::set<std::pair<int, int>> seen;
  for (const auto& link : map.links) {
    const auto name = core::format("link {} to {}", link.from, link.to);
    EXPECT_TRUE(seen.insert({link.from, link.to}).second) << name << " twice";
    expect_usable(link.isolated, options.sizes, name + " isolated");
    expect_usable(link.loaded, options.sizes, name + " loaded");
    EXPECT_GT(link.isolated_fit.bytes_per_second, 0) << name;
    EXPECT_GE(link.isolated_fit.latency_seconds, 0) << name;
  }
  for (int from = 0; from < n; ++from)
    for (int to = 0; to < n; ++to)
      EXPECT_EQ(seen.contains({from, to}), from != to) << "link " << from << " to " << to;
  EXPECT_TRUE(live.same_everywhere(map_text(map))) << "ranks hold different maps";
  EXPECT_GT(map.timer_resolution, 0);
}

TEST(Links, BecomeTierCurves) {
  Live live;
  const auto all = live.everyone();
  Budget budget(*live.world, 20);
  budget.begin("links", 1.0);
  const auto map = measure_links(*live.world, *all, *live.device, small_options(), budget);
  cost::HardwareProfile profile;
  store_links(map, live.nodes(), profile);
  EXPECT_EQ(profile.links.size(), map.links.size());
  const auto sizes = live.world->size() > 1 ? small_options().sizes.size() : 0;
  EXPECT_EQ(profile.transfer_same_node.points.size(), sizes);
  EXPECT_TRUE(profile.transfer_across.points.empty()) << "all ranks of this test are on one node";
  for (size_t i = 1; i < profile.transfer_same_node.points.size(); ++i)
    EXPECT_LT(profile.transfer_same_node.points[i - 1].x, profile.transfer_same_node.points[i].x);
}

TEST(Links, ADamagedMessageEndsThePhaseAndNamesTheLink) {
  Live live;
  const auto all = live.everyone();
  const int n = live.world->size();
  if (n < 2) GTEST_SKIP() << "one rank has no link";
  const int from = n - 1;
  const int to = 0;
  DamagingCommunicator damaged(*all, {from, to, 2048, 7});
  Budget budget(*live.world, 20);
  budget.begin("links", 1.0);
  try {
    measure_links(*live.world, damaged, *live.device, small_options(), budget);
    FAIL() << "a flipped bit went unnoticed";
  } catch (const core::AgreedError& error) {
    const std::string text = error.what();
    const auto& host = live.world->host_of(0);
    EXPECT_NE(text.find(core::format("from rank {} ({}) to rank {} ({})", from, host, to, host)),
              std::string::npos)
        << text;
    EXPECT_NE(text.find("byte 1024 of a message of 2048 bytes, iteration 7"), std::string::npos) << text;
    EXPECT_EQ(error.code(), core::ExitCode::environment);
  }
  live.world->barrier();  // nobody is left waiting
}

TEST(Links, DamageUnderLoadIsFoundToo) {
  Live live;
  const auto all = live.everyone();
  if (live.world->size() < 2) GTEST_SKIP() << "one rank has no link";
  DamagingCommunicator damaged(*all, {0, 1, 64, 0});
  PingBench ping(damaged, *live.device, 64);
  SampleRule rule;
  rule.target = 5;
  if (live.world->rank() == 0) ping.send(1, 64, Check::last, rule);
  if (live.world->rank() == 1) {
    const auto result = ping.receive(0, 64, Check::last);
    ASSERT_TRUE(result.wrong.has_value());
    EXPECT_EQ(result.wrong->from, 0);
    EXPECT_EQ(result.wrong->to, 1);
    EXPECT_EQ(result.wrong_byte, 32);
  }
  live.world->barrier();
}

TEST(Links, KeepToTheBudget) {
  Live live;
  const auto all = live.everyone();
  auto options = small_options();
  options.sizes = geometric_sizes(8, 1 << 20, 4);
  options.small_iterations = options.large_iterations = 1000000;
  options.seconds_per_point = 10;
  Budget budget(*live.world, 0.4);
  budget.begin("links", 1.0);
  const double begin = now_seconds();
  measure_links(*live.world, *all, *live.device, options, budget);
  // Slack: the minimum of samples is taken of every point that was begun.
  EXPECT_LT(now_seconds() - begin, 0.4 + 5.0);
}

TEST(Links, WithoutTimeNothingIsMeasuredAndNobodyWaits) {
  Live live;
  const auto all = live.everyone();
  Budget budget(*live.world, 0);
  budget.begin("links", 1.0);
  const auto map = measure_links(*live.world, *all, *live.device, small_options(), budget);
  EXPECT_TRUE(map.links.empty());
  EXPECT_EQ(map.measured_pairs, 0);
}

TEST(Links, OneRankThatIsAskedToStopSuffices) {
  Live live;
  const auto all = live.everyone();
  const bool me = live.world->rank() == live.world->size() - 1;
  int looks = 0;
  BudgetHooks hooks;
  hooks.stop_requested = [&] { return me && ++looks > 3; };
  Budget budget(*live.world, 20, hooks);
  budget.begin("links", 1.0);
  const auto map = measure_links(*live.world, *all, *live.device, small_options(), budget);
  if (live.world->size() == 1) return;  // no links: the budget is not looked at often enough
  EXPECT_TRUE(budget.stopped());
  EXPECT_LE(map.measured_pairs, map.pairs);
}

}  // namespace
}  // namespace galvatron::measure
