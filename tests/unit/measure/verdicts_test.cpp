// One slow thing in a pretended machine must be named, and nothing else.
#include "measure/verdicts.hpp"

#include <gtest/gtest.h>

#include "unit/measure/pretended.hpp"

namespace galvatron::measure {
namespace {

TEST(Verdicts, AnEvenMachineHasNone) {
  EXPECT_TRUE(verdicts_of(pretended_machine(4, 2)).empty());
  EXPECT_EQ(exclude_option({}), "");
}

TEST(Verdicts, ASlowLinkIsNamed) {
  auto profile = pretended_machine(4, 2);
  link_of(profile, 1, 6).bytes_per_second = 2e8;
  const auto verdicts = verdicts_of(profile);
  ASSERT_EQ(verdicts.size(), 1u);
  EXPECT_EQ(verdicts[0].kind, SlowKind::link);
  EXPECT_EQ(verdicts[0].from, 1);
  EXPECT_EQ(verdicts[0].to, 6);
  EXPECT_NE(verdicts[0].text.find("rank 1 (host0) to rank 6 (host3)"), std::string::npos) << verdicts[0].text;
  EXPECT_EQ(exclude_option(verdicts), "") << "one slow link is no reason to leave a host out";
}

TEST(Verdicts, ALateLinkIsNamed) {
  auto profile = pretended_machine(4, 2);
  link_of(profile, 0, 1).latency_seconds = 1e-4;
  const auto verdicts = verdicts_of(profile);
  ASSERT_EQ(verdicts.size(), 1u);
  EXPECT_NE(verdicts[0].text.find("latency"), std::string::npos) << verdicts[0].text;
}

TEST(Verdicts, ASlowNodeStandsForItsLinks) {
  auto profile = pretended_machine(6, 1);
  for (auto& link : profile.links)
    if (link.from == 4 || link.to == 4) link.bytes_per_second *= 0.3;
  const auto verdicts = verdicts_of(profile);
  ASSERT_EQ(verdicts.size(), 1u) << "the node's links are not to be listed one by one";
  EXPECT_EQ(verdicts[0].kind, SlowKind::node);
  EXPECT_EQ(verdicts[0].host, "host4");
  EXPECT_EQ(exclude_option(verdicts), "--exclude=host4");
}

TEST(Verdicts, ASlowNodeIsFoundAmongFewNodes) {
  // Half of all links touch the slow one of four nodes, two thirds that of three: it is no outlier among
  // links.
  for (const int nodes : {3, 4, 5}) {
    for (const int per_node : {1, 2}) {
      auto profile = pretended_machine(nodes, per_node);
      for (auto& link : profile.links) {
        const auto from = node_of(profile, link.from), to = node_of(profile, link.to);
        if (from != to && (from == 1 || to == 1)) link.bytes_per_second *= 0.3;
      }
      const auto verdicts = verdicts_of(profile);
      ASSERT_EQ(verdicts.size(), 1u) << nodes << " nodes of " << per_node;
      EXPECT_EQ(verdicts[0].kind, SlowKind::node);
      EXPECT_EQ(verdicts[0].host, "host1");
    }
  }
}

TEST(Verdicts, OneSlowDirectionBetweenFewNodesIsALink) {
  for (const int nodes : {3, 4}) {
    auto profile = pretended_machine(nodes, 1);
    link_of(profile, 0, 2).bytes_per_second = 2e8;
    const auto verdicts = verdicts_of(profile);
    ASSERT_EQ(verdicts.size(), 1u) << nodes << " nodes";
    EXPECT_EQ(verdicts[0].kind, SlowKind::link);
    EXPECT_EQ(verdicts[0].from, 0);
    EXPECT_EQ(verdicts[0].to, 2);
  }
}

TEST(Verdicts, LinksAreJudgedAtEqualSizes) {
  auto profile = pretended_machine(4, 1);
  for (auto& link : profile.links) {
    for (double bytes = 8; bytes <= 1 << 20; bytes *= 8) {
      auto& point = link.isolated.points.emplace_back();
      point.x = bytes;
      point.seconds = 3e-5 + bytes / (1e9 * (1.0 + 0.01 * ((3 * link.from + 5 * link.to) % 7)));
    }
  }
  // It had no time for its large messages. What it did send is as fast as that of others.
  link_of(profile, 1, 2).isolated.points.resize(3);
  EXPECT_TRUE(verdicts_of(profile).empty());
  for (auto& point : link_of(profile, 3, 1).isolated.points)
    if (point.x > 10000) point.seconds *= 3;
  const auto verdicts = verdicts_of(profile);
  ASSERT_EQ(verdicts.size(), 1u);
  EXPECT_EQ(verdicts[0].from, 3);
  EXPECT_EQ(verdicts[0].to, 1);
}

TEST(Verdicts, ALateNodeIsFoundAmongFewNodes) {
  auto profile = pretended_machine(3, 1);
  for (auto& link : profile.links) {
    auto& point = link.isolated.points.emplace_back();
    const double late = link.from == 2 || link.to == 2 ? 20 : 1;
    point.x = 8;
    point.seconds = late * link.latency_seconds;
    point.minimum = 0.8 * point.seconds;
    point.p95 = 3 * point.seconds;
  }
  const auto verdicts = verdicts_of(profile);
  ASSERT_EQ(verdicts.size(), 1u);
  EXPECT_EQ(verdicts[0].kind, SlowKind::node);
  EXPECT_EQ(verdicts[0].host, "host2");
}

TEST(Verdicts, ALinkThatWasBusyIsNotSlow) {
  auto profile = pretended_machine(4, 1);
  for (auto& link : profile.links) {
    auto& point = link.isolated.points.emplace_back();
    point.x = 8;
    point.seconds = link.latency_seconds;
    point.minimum = 0.9 * link.latency_seconds;
  }
  auto& point = link_of(profile, 2, 0).isolated.points[0];
  point.seconds *= 50;  // most samples were late, the fastest one was not
  EXPECT_TRUE(verdicts_of(profile).empty());
  point.minimum *= 40;
  EXPECT_EQ(verdicts_of(profile).size(), 1u);
  for (auto& link : profile.links) link.isolated.points[0].p95 = 100 * link.latency_seconds;
  EXPECT_TRUE(verdicts_of(profile).empty()) << "all links have samples that are as late";
}

TEST(Verdicts, PathsAreNotCompared) {
  auto profile = pretended_machine(4, 1);
  const auto links = profile.links;
  for (auto link : links) {
    link.path = "a faster way";
    link.bytes_per_second *= 10;
    profile.links.push_back(link);
  }
  EXPECT_TRUE(verdicts_of(profile).empty());
}

TEST(Verdicts, ASlowDeviceIsNamed) {
  auto profile = pretended_machine(4, 2);
  profile.gemm_flops[5] = 2e10;
  const auto verdicts = verdicts_of(profile);
  ASSERT_EQ(verdicts.size(), 1u);
  EXPECT_EQ(verdicts[0].kind, SlowKind::device);
  EXPECT_NE(verdicts[0].text.find("rank 5 (host2)"), std::string::npos) << verdicts[0].text;
  EXPECT_EQ(exclude_option(verdicts), "--exclude=host2");
}

TEST(Verdicts, TheFastLinksInsideANodeDoNotAccuseTheOthers) {
  auto profile = pretended_machine(2, 4);  // inside: 20 × as fast as across
  EXPECT_TRUE(verdicts_of(profile).empty());
}

}  // namespace
}  // namespace galvatron::measure
