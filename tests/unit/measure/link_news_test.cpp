// What else is said about links: what changed, what the budget left out, which sizes it allows.
#include <gtest/gtest.h>

#include <algorithm>

#include "measure/link_changes.hpp"
#include "measure/link_report.hpp"
#include "measure/link_sizes.hpp"
#include "measure/links.hpp"
#include "measure/sampler.hpp"
#include "unit/measure/pretended.hpp"

namespace galvatron::measure {
namespace {

/// A machine whose samples spread by `noise` to either side of the median.
cost::HardwareProfile with_curves(int nodes, int per_node, double noise) {
  auto profile = pretended_machine(nodes, per_node);
  for (auto& link : profile.links) {
    for (double bytes = 8; bytes <= 1 << 20; bytes *= 8) {
      auto& point = link.isolated.points.emplace_back();
      point.x = bytes;
      point.seconds = link.latency_seconds + bytes / link.bytes_per_second;
      point.minimum = point.seconds * (1 - noise);
      point.p95 = point.seconds * (1 + noise);
    }
  }
  return profile;
}

void slow_down(cost::Link& link, double factor) {
  for (auto& p : link.isolated.points)
    for (double* seconds : {&p.seconds, &p.minimum, &p.p95}) *seconds *= p.x > 1000 ? factor : 1;
}

TEST(LinkChanges, OnlyMoreThanNoiseCounts) {
  const auto before = with_curves(2, 2, 0.2);
  EXPECT_TRUE(link_changes(before, before).empty());
  auto now = before;
  slow_down(link_of(now, 0, 3), 1.3);  // within the spread of both
  EXPECT_TRUE(link_changes(now, before).empty());
  slow_down(link_of(now, 2, 1), 2);
  const auto changes = link_changes(now, before);
  ASSERT_EQ(changes.size(), 1U);
  EXPECT_EQ(changes[0].from, 2);
  EXPECT_EQ(changes[0].to, 1);
  EXPECT_EQ(changes[0].figure, cost::LinkFigure::bandwidth);
  EXPECT_NEAR(changes[0].before / changes[0].after, 2, 0.01);
  now.compared_with = "yesterday";
  now.link_changes = changes;
  const auto text = link_changes_text(now);
  EXPECT_NE(text.find("worse: rank 2 (host1) to rank 1 (host0)"), std::string::npos) << text;
  EXPECT_NE(text.find("since the profile of yesterday"), std::string::npos) << text;
}

TEST(LinkChanges, SmallChangesAreNoneHoweverQuietTheLinks) {
  const auto before = with_curves(2, 2, 0.001);
  auto now = before;
  slow_down(link_of(now, 0, 3), 1.05);
  EXPECT_TRUE(link_changes(now, before).empty());
}

TEST(LinkChanges, HostsAreTheLinksNames) {
  const auto before = with_curves(3, 2, 0.01);
  auto now = with_curves(3, 2, 0.01);
  std::swap(now.hosts[0], now.hosts[2]);  // the same machine, ranks the other way round
  slow_down(link_of(now, 0, 2), 3);       // host2 to host1
  now.hosts[1] = "new";
  EXPECT_TRUE(link_changes(now, before).empty()) << "links of a new host have no past";
  now.hosts[1] = "host1";
  const auto changes = link_changes(now, before);
  ASSERT_FALSE(changes.empty());
  const auto slow =
      std::find_if(changes.begin(), changes.end(), [](const auto& c) { return c.before > 2 * c.after; });
  ASSERT_NE(slow, changes.end());
  EXPECT_EQ(slow->from, 0);
  EXPECT_EQ(slow->to, 2);
}

TEST(LinkReport, SaysWhatTheBudgetLeftOut) {
  cost::LinkCoverage all{6, 6, 4, 4, 2, 2, 7, 7, 1 << 26, 1 << 26, 1 << 26, 1e-8};
  EXPECT_TRUE(left_out(all).empty());
  const cost::LinkCoverage some{6, 6, 4, 3, 20, 2, 7, 5, 1 << 26, 1 << 26, 1 << 20, 1e-8};
  const auto lines = left_out(some);
  ASSERT_EQ(lines.size(), 4U);
  EXPECT_NE(lines[0].find("3 of 4 pairs of first ranks"), std::string::npos) << lines[0];
  EXPECT_NE(lines[1].find("2 of 20 other pairs"), std::string::npos) << lines[1];
  EXPECT_NE(lines[2].find("5 of 7 rounds"), std::string::npos) << lines[2];
  EXPECT_NE(lines[3].find("across nodes up to 1.00 MiB instead of 64.0 MiB"), std::string::npos) << lines[3];
}

TEST(LinkReport, TheTableHasALineForEachPointOfEachPass) {
  const auto profile = with_curves(2, 1, 0.1);
  const auto csv = links_csv(profile);
  const auto points = profile.links.size() * profile.links[0].isolated.points.size();
  EXPECT_EQ(std::count(csv.begin(), csv.end(), '\n'), static_cast<int64_t>(points) + 1);
  EXPECT_NE(csv.find("\n0,1,host0,host1,host MPI,isolated,8,"), std::string::npos) << csv;
}

TEST(LinkSizes, TheBudgetBoundsThem) {
  const auto sizes = geometric_sizes(8, int64_t{64} << 20, 2);
  // A microsecond and a nanosecond per byte.
  const std::vector<PilotPoint> look = {{8, 1e-6}, {64, 1.1e-6}, {512, 1.5e-6}, {4096, 5.1e-6}};
  EXPECT_EQ(affordable_sizes(sizes, look, 10, 65536), sizes);
  const auto half = affordable_sizes(sizes, look, 0.1, 65536);
  EXPECT_EQ(half.back(), int64_t{4} << 20)
      << "eight messages of 8 MiB take 67 ms, of all sizes up to it 134 ms";
  EXPECT_EQ(half[1], 16) << "all sizes up to there fit";
  EXPECT_EQ(affordable_sizes(sizes, {}, 0, 65536), sizes) << "nobody looked";
}

TEST(LinkSizes, LittleTimeMakesRoughCurvesAndNotShortOnes) {
  const auto sizes = geometric_sizes(8, int64_t{64} << 20, 2);
  const std::vector<PilotPoint> look = {{8, 1e-6}, {4096, 5.1e-6}};
  const auto rough = affordable_sizes(sizes, look, 0.004, 65536);
  EXPECT_GE(rough.back(), 262144);
  EXPECT_GT(rough[1], 16);
  const auto least = affordable_sizes(sizes, look, 0, 65536);
  EXPECT_EQ(least.front(), 8);
  EXPECT_GE(least.back(), 65536) << "without it there is no bandwidth";
  EXPECT_LE(least.size(), 5U);
  const auto narrow = affordable_sizes(geometric_sizes(8, 65536, 2), look, 0, 65536);
  EXPECT_EQ(narrow.back(), 65536);
  EXPECT_LE(narrow.size(), 5U);
  EXPECT_EQ(affordable_sizes(geometric_sizes(8, 512, 2), look, 0, 65536).back(), 512)
      << "the largest there is";
}

TEST(LinkSizes, PilotsAreSpreadOverTheMachine) {
  const std::vector<int> node_of = {0, 0, 0, 1, 1, 2, 3, 3};
  const Round inside = {{0, 1}, {3, 4}, {6, 7}}, leaders = {{0, 3}, {5, 6}};
  EXPECT_EQ(pilot_pairs(node_of, PairKind::inside), inside);
  EXPECT_EQ(pilot_pairs(node_of, PairKind::leaders), leaders);
  EXPECT_TRUE(pilot_pairs({0, 0}, PairKind::leaders).empty());
}

TEST(LinkSizes, ASlowPilotDoesNotDecideAlone) {
  const auto joined = joined_looks({{{8, 1}, {64, 2}}, {{8, 1}, {64, 2}}, {{8, 100}}});
  ASSERT_EQ(joined.size(), 2U);
  EXPECT_EQ(joined[0].seconds, 1);
  EXPECT_EQ(joined[1].seconds, 2);
}

}  // namespace
}  // namespace galvatron::measure
