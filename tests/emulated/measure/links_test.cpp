// The link map on a few emulated nodes (tests/support/emulated_cluster.py): tiers, a slow node, a slow link
// and a damaged message are told by measuring alone. Each test runs on the cluster that was made for it.
#include "measure/links.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>
#include <utility>

#include "core/errors.hpp"
#include "core/format.hpp"
#include "measure/link_report.hpp"
#include "measure/report.hpp"
#include "measure/sampler.hpp"
#include "measure/verdicts.hpp"
#include "mpi/measure/support.hpp"

namespace galvatron::measure {
namespace {

using test::Damage;
using test::DamagingCommunicator;
using test::Live;

int number_in(const char* name) {
  const char* text = std::getenv(name);
  GALV_ASSERT(text != nullptr, name);
  return std::atoi(text);
}

LinkOptions options_up_to(int64_t bytes) {
  LinkOptions options;
  options.sizes = geometric_sizes(8, bytes, 8);
  return options;
}

/// The profile of the links alone.
cost::HardwareProfile surveyed(Live& live, const LinkOptions& options, double seconds) {
  const LinkPaths paths(*live.world, *live.device);
  Budget budget(*live.world, seconds);
  budget.begin("links", 1.0);
  const auto map = measure_links(*live.world, paths.list(), options, budget);
  cost::HardwareProfile profile;
  describe_nodes(*live.world, profile);
  store_links(map, paths.list().front().name, profile);
  return profile;
}

std::string text_of(const cost::HardwareProfile& profile) {
  return tier_table(profile) + link_coverage_text(profile) + verdict_text(profile) + links_csv(profile);
}

TEST(EmulatedLinks, TellTheTiersApart) {
  Live live;
  ASSERT_GT(live.world->nodes(), 1);
  ASSERT_GT(live.world->local_size(), 1);
  const auto profile = surveyed(live, options_up_to(32768), 6);
  const auto &same = profile.transfer_same_node, &across = profile.transfer_across;
  ASSERT_FALSE(same.points.empty());
  ASSERT_FALSE(across.points.empty());
  const double bytes = std::min(same.points.back().x, across.points.back().x);
  EXPECT_GT(across.at(bytes), 3 * same.at(bytes)) << bytes << " bytes\n" << text_of(profile);
  // What a cable carries is known: the bridge holds back whatever is faster.
  const double cable = number_in("GALVATRON_MBIT") * 1e6 / 8;
  EXPECT_LT(across.points.back().x / across.points.back().seconds, 1.3 * cable) << text_of(profile);
}

TEST(EmulatedLinks, FindTheSlowNode) {
  Live live;
  const auto profile = surveyed(live, options_up_to(262144), 8);
  if (live.world->rank() != 0) return;  // all ranks hold the same map
  const int slow = number_in("GALVATRON_SLOW_NODE");
  int named = 0;
  for (const auto& v : verdicts_of(profile)) {
    if (v.kind != SlowKind::node) continue;
    EXPECT_EQ(v.host, live.world->host_of(slow)) << text_of(profile);
    ++named;
  }
  EXPECT_EQ(named, 1) << text_of(profile);
}

TEST(EmulatedLinks, FindTheSlowLink) {
  Live live;
  const auto profile = surveyed(live, options_up_to(262144), 8);
  if (live.world->rank() != 0) return;  // all ranks hold the same map
  const int from = number_in("GALVATRON_SLOW_FROM"), to = number_in("GALVATRON_SLOW_TO");
  bool found = false;
  for (const auto& v : verdicts_of(profile)) {
    EXPECT_NE(v.kind, SlowKind::node) << text_of(profile);
    found = found || (v.kind == SlowKind::link && v.from == from && v.to == to &&
                      v.text.find("/s, usual") != std::string::npos);
  }
  EXPECT_TRUE(found) << text_of(profile);
}

TEST(EmulatedLinks, NameTheDamagedLink) {
  Live live;
  const auto all = live.everyone();
  const int from = 0, to = live.world->size() - 1;
  DamagingCommunicator damaged(*all, {from, to, 512, 3});
  const LinkPath way = {"damaged", &damaged, live.device.get()};
  Budget budget(*live.world, 6);
  budget.begin("links", 1.0);
  try {
    measure_links(*live.world, std::span(&way, 1), options_up_to(4096), budget);
    FAIL() << "a flipped bit went unnoticed";
  } catch (const core::AgreedError& error) {
    const std::string text = error.what();
    const auto expected = core::format("from rank {} ({}) to rank {} ({})", from, live.world->host_of(0), to,
                                       live.world->host_of(live.world->node_of(to)));
    EXPECT_NE(text.find(expected), std::string::npos) << text;
    EXPECT_NE(live.world->host_of(0), live.world->host_of(live.world->node_of(to)));
    EXPECT_EQ(error.code(), core::ExitCode::environment);
  }
  live.world->barrier();
}

}  // namespace
}  // namespace galvatron::measure
