// The worklist must meet every point that plans may ask for with few Programs, the ends of all curves first.
#include "measure/worklist.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "support/models.hpp"

namespace galvatron::measure {
namespace {

std::vector<LayerCase> cases_of(const std::vector<int64_t>& samples) {
  std::vector<LayerCase> cases;
  for (const auto& layer : galvatron::test::small_model(2).layers) {
    for (const int32_t zero : {0, 1, 2, 3}) {
      for (const auto count : samples) {
        program::LayerContext context;
        context.strategy.dp = 2;
        context.strategy.zero = zero;
        context.samples = count;
        cases.push_back({layer, context});
      }
    }
  }
  return cases;
}

std::map<std::string, std::set<double>> rows_of(const std::vector<LayerCase>& cases, int64_t first) {
  std::map<std::string, std::set<double>> rows;
  for (int64_t i = 0; i < first; ++i) {
    const auto& c = cases[static_cast<size_t>(i)];
    for (const auto& p : points_of(program::lower(c.layer, c.context, program::NoWorkspace())))
      rows[p.key].insert(p.rows);
  }
  return rows;
}

TEST(Worklist, MeetsEveryPointWithFewPrograms) {
  const auto cases = cases_of({1, 2, 4, 8});
  const auto list = make_worklist(cases, program::NoWorkspace());
  const auto rows = rows_of(list.cases, static_cast<int64_t>(list.cases.size()));
  for (const auto& point : list.points) EXPECT_TRUE(rows.at(point.key).contains(point.rows)) << point.key;
  EXPECT_LT(list.cases.size(), cases.size() / 4) << "equal layers and ZeRO levels share their steps";
}

TEST(Worklist, KnowsEverySignature) {
  const auto cases = cases_of({1, 2, 4, 8});
  const auto list = make_worklist(cases, program::NoWorkspace());
  std::set<std::string> wanted;
  for (const auto& point : list.points) wanted.insert(point.key);
  for (const auto& [key, rows] : rows_of(cases, static_cast<int64_t>(cases.size()))) {
    EXPECT_TRUE(wanted.contains(key)) << key;
  }
}

TEST(Worklist, TheEndsOfEveryCurveComeFirst) {
  const auto cases = cases_of({1, 2, 4, 8});
  const auto list = make_worklist(cases, program::NoWorkspace());
  const auto every = rows_of(cases, static_cast<int64_t>(cases.size()));
  const auto early = rows_of(list.cases, list.first_cases_ends);
  for (const auto& [key, rows] : every) {
    ASSERT_TRUE(early.contains(key)) << key;
    EXPECT_EQ(*early.at(key).begin(), *rows.begin()) << key;
    EXPECT_EQ(*early.at(key).rbegin(), *rows.rbegin()) << key;
  }
}

TEST(Worklist, NeighbouringRowsAreNotAllMeasured) {
  std::vector<int64_t> samples;
  for (int64_t s = 1; s <= 40; ++s) samples.push_back(s);
  const auto list = make_worklist(cases_of(samples), program::NoWorkspace(), 1.4);
  std::map<std::string, int> count;
  for (const auto& point : list.points) ++count[point.key];
  for (const auto& [key, n] : count) EXPECT_LE(n, 12) << key;  // log 40 / log 1.4 = 11
}

TEST(Worklist, IsEmptyForNothing) {
  const auto list = make_worklist({}, program::NoWorkspace());
  EXPECT_TRUE(list.cases.empty());
  EXPECT_TRUE(list.points.empty());
}

}  // namespace
}  // namespace galvatron::measure
