// The report says what the profile holds, and the bus bandwidth follows the usual definitions.
#include "measure/report.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>
#include <string>
#include <vector>

#include "unit/measure/pretended.hpp"

namespace galvatron::measure {
namespace {

using core::CollectiveKind;

std::vector<std::string> lines_of(const std::string& text) {
  std::istringstream stream(text);
  std::vector<std::string> out;
  for (std::string line; std::getline(stream, line);) out.push_back(line);
  return out;
}

TEST(Report, BusFactors) {
  EXPECT_DOUBLE_EQ(bus_factor(CollectiveKind::all_reduce, 4), 1.5);
  EXPECT_DOUBLE_EQ(bus_factor(CollectiveKind::all_gather, 4), 0.75);
  EXPECT_DOUBLE_EQ(bus_factor(CollectiveKind::reduce_scatter, 3), 2.0 / 3.0);
  EXPECT_DOUBLE_EQ(bus_factor(CollectiveKind::all_to_all, 8), 0.875);
  EXPECT_DOUBLE_EQ(bus_factor(CollectiveKind::broadcast, 8), 1.0);
}

TEST(Report, TheMapHasARowPerRankAndShowsTheWorstLink) {
  auto profile = pretended_machine(1, 4);
  link_of(profile, 2, 1).bytes_per_second = 1e8;
  const auto text = link_map_text(profile);
  const auto lines = lines_of(text);
  ASSERT_EQ(lines.size(), 10u) << text;
  EXPECT_EQ(lines[3], "     2 @. @") << text;
  EXPECT_EQ(lines[2], "     1 @ @@") << text;
}

TEST(Report, SmallDifferencesLookSmall) {
  const auto lines = lines_of(link_map_text(pretended_machine(1, 4)));  // latencies differ by 6 % at most
  for (size_t row = 6; row < 10; ++row)
    EXPECT_EQ(lines[row].find_first_not_of("@% ", 7), std::string::npos) << lines[row];
}

TEST(Report, ManyRanksShareCells) {
  const auto text = link_map_text(pretended_machine(13, 8));
  for (const auto& line : lines_of(text)) EXPECT_LE(line.size(), 100u) << line;
  EXPECT_NE(text.find("one cell = 3 ranks"), std::string::npos) << text;
}

TEST(Report, TiersApart) {
  const auto lines = lines_of(tier_table(pretended_machine(2, 2)));
  ASSERT_EQ(lines.size(), 3u);
  EXPECT_NE(lines[1].find("same node"), std::string::npos);
  EXPECT_NE(lines[1].find(" 4 "), std::string::npos) << "4 ordered pairs inside nodes: " << lines[1];
  EXPECT_NE(lines[2].find(" 8 "), std::string::npos) << "8 ordered pairs across: " << lines[2];
}

TEST(Report, CollectivesShowBusBandwidth) {
  auto profile = pretended_machine(1, 4);
  profile.collectives[{CollectiveKind::all_reduce, {4, 1, 4}}].points = {{1024, 1e-5, 1e-5, 1e-5, 9},
                                                                         {1e6, 1e-3, 1e-3, 1e-3, 9}};
  const auto text = collective_table(profile);
  EXPECT_NE(text.find("1.5 GB/s"), std::string::npos) << "1 MB in 1 ms × 2 · 3 / 4: " << text;
  EXPECT_NE(text.find("all-reduce"), std::string::npos) << text;
}

TEST(Report, EverySectionIsThereEvenForOneRank) {
  cost::HardwareProfile profile;
  profile.hosts = {"lonely"};
  profile.gemm_flops = {1.23e11};
  profile.memory_bytes_per_second = {1e10};
  profile.reserve_bytes = int64_t{90} << 20;
  profile.reserve_parts = {{"process", int64_t{90} << 20}};
  profile.conditions = {{"date", "2030-01-01"}};
  const auto text = hardware_report(profile);
  for (const char* part : {"1 ranks on 1 nodes", "date", "no links measured", "rank 0 (lonely)",
                           "123.0 GFLOP/s", "90.0 MiB", "process", "no slow link"})
    EXPECT_NE(text.find(part), std::string::npos) << "'" << part << "' is missing in:\n" << text;
}

}  // namespace
}  // namespace galvatron::measure
