// The link map over real messages: complete, plausible, the same on every rank, within its time; and a
// damaged message is found and its link named on every rank.
#include "measure/links.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <set>
#include <span>
#include <utility>

#include "core/errors.hpp"
#include "core/format.hpp"
#include "measure/ping.hpp"
#include "measure/sampler.hpp"
#include "measure/statistics.hpp"
#include "mpi/measure/support.hpp"

namespace galvatron::measure {
namespace {

using test::Damage;
using test::DamagingCommunicator;
using test::Live;

LinkOptions small_options() {
  LinkOptions options;
  options.sizes = geometric_sizes(8, 32768, 16);
  options.iterations.small = 20;
  options.iterations.large = 5;
  return options;
}

std::string map_text(const LinkMap& map) {
  std::string text;
  for (const auto& link : map.links)
    text +=
        core::format("{} {} {} {} {} {}\n", link.from, link.to, link.isolated.points.size(),
                     link.bytes_per_second, link.loaded_bytes_per_second, link.loaded.fit.relative_residual);
  return text;
}

void expect_usable(const cost::Curve& curve, const std::vector<int64_t>& sizes, const std::string& link) {
  ASSERT_EQ(curve.points.size(), sizes.size()) << link;
  for (size_t i = 0; i < sizes.size(); ++i) {
    const auto& p = curve.points[i];
    EXPECT_EQ(p.x, static_cast<double>(sizes[i])) << link;
    EXPECT_GT(p.seconds, 0) << link << ", " << sizes[i] << " bytes";
    EXPECT_TRUE(std::isfinite(p.seconds)) << link << ", " << sizes[i] << " bytes";
    EXPECT_LE(p.minimum, p.seconds) << link;
    EXPECT_LE(p.seconds, p.p95) << link;
    EXPECT_LE(p.p95, p.p99) << link;
    EXPECT_GE(p.samples, 3) << link;
  }
  EXPECT_FALSE(curve.fit.segments.empty()) << link;
  EXPECT_EQ(curve.fit.residuals.size(), curve.points.size()) << link;
}

TEST(Links, EveryOrderedPairIsThere) {
  Live live;
  const LinkPaths paths(*live.world, *live.device);
  const auto options = small_options();
  Budget budget(*live.world, 40);
  budget.begin("links", 1.0);
  const auto map = measure_links(*live.world, paths.list(), options, budget);
  const int n = live.world->size();
  EXPECT_EQ(map.pairs(), n * (n - 1) / 2);
  EXPECT_EQ(map.measured_pairs(), map.pairs());
  std::set<std::pair<int, int>> seen;
  for (const auto& link : map.links) {
    const auto name = core::format("link {} to {}", link.from, link.to);
    EXPECT_TRUE(seen.insert({link.from, link.to}).second) << name << " twice";
    expect_usable(link.isolated, options.sizes, name + " isolated");
    expect_usable(link.loaded, options.sizes, name + " loaded");
    EXPECT_GT(link.bytes_per_second, 0) << name;
    EXPECT_GE(link.latency_seconds, 0) << name;
    EXPECT_EQ(link.path, "host MPI") << name;
  }
  for (int from = 0; from < n; ++from)
    for (int to = 0; to < n; ++to)
      EXPECT_EQ(seen.contains({from, to}), from != to) << "link " << from << " to " << to;
  EXPECT_TRUE(live.same_everywhere(map_text(map))) << "ranks hold different maps";
  EXPECT_GT(map.coverage.timer_resolution, 0);
  EXPECT_TRUE(left_out(map.coverage).empty()) << left_out(map.coverage).front();
  EXPECT_EQ(map.coverage.rounds, n < 2 ? 0 : n % 2 == 0 ? n - 1 : n);
  EXPECT_EQ(map.coverage.rounds_done, map.coverage.rounds);
}

TEST(Links, EverySampleIsKeptOnRankZero) {
  Live live;
  const LinkPaths paths(*live.world, *live.device);
  Budget budget(*live.world, 20);
  budget.begin("links", 1.0);
  const auto map = measure_links(*live.world, paths.list(), small_options(), budget);
  if (live.world->rank() != 0) {
    EXPECT_TRUE(map.raw.series.empty());
    return;
  }
  std::map<std::pair<std::string, double>, std::vector<double>> raw;
  for (const auto& series : map.raw.series) raw[{series.of, series.x}] = series.samples;
  for (const auto& link : map.links) {
    for (const auto& [pass, curve] :
         {std::pair{"isolated", link.isolated}, std::pair{"loaded", link.loaded}}) {
      for (const auto& p : curve.points) {
        const auto name = core::format("{} to {}, {}, host MPI", link.from, link.to, pass);
        const auto found = raw.find({name, p.x});
        ASSERT_NE(found, raw.end()) << name << ", " << p.x << " bytes";
        auto samples = found->second;  // of the better visit, where there were two
        const auto again = raw.find({name + ", visited again", p.x});
        if (again != raw.end() && median_of(again->second) < median_of(samples)) samples = again->second;
        EXPECT_EQ(static_cast<int64_t>(samples.size()), p.samples) << name;
        EXPECT_EQ(std::max(median_of(samples), 1e-9), p.seconds) << name;
      }
    }
  }
}

TEST(Links, EachPathHasItsLinks) {
  Live live;
  const LinkPaths paths(*live.world, *live.device);
  std::vector<LinkPath> two(2, paths.list().front());
  two[1].name = "another way";
  Budget budget(*live.world, 20);
  budget.begin("links", 1.0);
  const auto map = measure_links(*live.world, two, small_options(), budget);
  const auto n = static_cast<size_t>(live.world->size());
  ASSERT_EQ(map.links.size(), 2 * n * (n - 1));
  for (size_t i = 0; i < map.links.size(); ++i)
    EXPECT_EQ(map.links[i].path, i < n * (n - 1) ? "host MPI" : "another way") << "link " << i;
}

TEST(Links, BecomeTierCurves) {
  Live live;
  const LinkPaths paths(*live.world, *live.device);
  Budget budget(*live.world, 20);
  budget.begin("links", 1.0);
  const auto map = measure_links(*live.world, paths.list(), small_options(), budget);
  cost::HardwareProfile profile;
  describe_nodes(*live.world, profile);
  store_links(map, paths.list().front().name, profile);
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
    const LinkPath way = {"damaged", &damaged, live.device.get()};
    measure_links(*live.world, std::span(&way, 1), small_options(), budget);
    FAIL() << "a flipped bit went unnoticed";
  } catch (const core::AgreedError& error) {
    const std::string text = error.what();
    const auto host = [&](int rank) { return live.world->host_of(live.world->node_of(rank)); };
    EXPECT_NE(text.find(core::format("from rank {} ({}) to rank {} ({})", from, host(from), to, host(to))),
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
  const LinkPaths paths(*live.world, *live.device);
  auto options = small_options();
  options.sizes = geometric_sizes(8, 1 << 20, 4);
  options.iterations.small = options.iterations.large = 1000000;
  Budget budget(*live.world, 0.4);
  budget.begin("links", 1.0);
  const double begin = now_seconds();
  measure_links(*live.world, paths.list(), options, budget);
  // Slack: the minimum of samples is taken of every point that was begun.
  EXPECT_LT(now_seconds() - begin, 0.4 + 5.0);
}

TEST(Links, WithoutTimeNothingIsMeasuredAndNobodyWaits) {
  Live live;
  const LinkPaths paths(*live.world, *live.device);
  Budget budget(*live.world, 0);
  budget.begin("links", 1.0);
  const auto map = measure_links(*live.world, paths.list(), small_options(), budget);
  EXPECT_TRUE(map.links.empty());
  EXPECT_EQ(map.measured_pairs(), 0);
}

TEST(Links, OneRankThatIsAskedToStopSuffices) {
  Live live;
  const LinkPaths paths(*live.world, *live.device);
  const bool me = live.world->rank() == live.world->size() - 1;
  int looks = 0;
  BudgetHooks hooks;
  hooks.stop_requested = [&] { return me && ++looks > 3; };
  Budget budget(*live.world, 20, hooks);
  budget.begin("links", 1.0);
  const auto map = measure_links(*live.world, paths.list(), small_options(), budget);
  if (live.world->size() == 1) return;  // no links: the budget is not looked at often enough
  EXPECT_TRUE(budget.stopped());
  EXPECT_LE(map.measured_pairs(), map.pairs());
}

}  // namespace
}  // namespace galvatron::measure
