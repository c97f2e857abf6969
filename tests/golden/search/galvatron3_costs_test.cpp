// Component costs and strategy list of Galvatron 3.0 against every figure that its public code was seen to
// compute.

#include "plan/galvatron3/strategy_file.hpp"
#include "search/galvatron3/space.hpp"
#include "support/galvatron3.hpp"

namespace galvatron::test::galvatron3 {
namespace {

search::galvatron3::SpaceOptions space_of_eight() {
  search::galvatron3::SpaceOptions options;
  options.world = 8;
  options.layers = 32;
  options.max_pp = options.max_tp = options.max_sp = 8;
  return options;
}

TEST(Galvatron3Costs, ListsTheStrategiesOfEightRanksInOrder) {
  const auto layers = search::galvatron3::layer_strategies(space_of_eight());
  const auto expected = rows("strategies.txt");
  ASSERT_EQ(layers.size(), expected.size());
  for (size_t i = 0; i < layers.size(); ++i) EXPECT_EQ(to_string(layers[i]), expected[i].front()) << i;
  EXPECT_EQ(search::galvatron3::vocab_strategies(layers).size(), 25u);
}

/// Seconds of the same strategy everywhere, as many layers on each stage.
double uniform_seconds(const g3::Rules& rules, const g3::Strategy& s, const g3::Step& step) {
  std::vector<g3::StageSeconds> stages;
  const auto layer = rules.layer_seconds(s, step);
  for (const auto count : plan::galvatron3::even_stages(rules.model().layers, s.pp)) {
    const auto vocab = rules.vocab_seconds(s, step, static_cast<int64_t>(stages.size()));
    const auto layers = static_cast<double>(count);
    stages.push_back({layers * layer.without + vocab.without, layers * layer.with});
  }
  return g3::pipeline_seconds(stages, step.chunks);
}

/// Columns from `column` on: vocabulary seconds with and without sync, MB; then the uniform plan.
void expect_vocab(const g3::Rules& rules, const g3::Strategy& s, const g3::Step& step,
                  const std::vector<std::string>& row, size_t column) {
  const auto first = rules.vocab_seconds(s, step, 0);
  const auto last = rules.vocab_seconds(s, step, s.pp - 1);
  const auto name = to_string(s) + " vocab ";
  expect_printed(first.with, row.at(column), name + "with sync, first");
  expect_printed(last.with, row.at(column + 1), name + "with sync, last");
  expect_printed(first.without, row.at(column + 2), name + "without sync, first");
  expect_printed(last.without, row.at(column + 3), name + "without sync, last");
  expect_printed(rules.vocab_mb(s, step, 0), row.at(column + 4), name + "MB, first");
  expect_printed(rules.vocab_mb(s, step, s.pp - 1), row.at(column + 5), name + "MB, last");
  expect_printed(uniform_seconds(rules, s, step), row.at(column + 6), to_string(s) + " uniform plan");
}

TEST(Galvatron3Costs, OfTheShippedProfiles) {
  const auto rules = shipped_rules();
  const g3::Step step = {32, 8};
  const auto table = rows("a100_8/costs.txt");
  EXPECT_EQ(table.size(), 46u);
  for (const auto& row : table) {
    const auto s = strategy_named(row.at(0));
    EXPECT_EQ(name_of(s.type), row.at(1)) << row.at(0);
    const auto layer = rules.layer_seconds(s, step);
    expect_printed(layer.with, row.at(2), row.at(0) + " with sync");
    expect_printed(layer.without, row.at(3), row.at(0) + " without sync");
    expect_printed(rules.layer_mb(s, step, 0), row.at(4), row.at(0) + " MB, first stage");
    expect_printed(rules.layer_mb(s, step, s.pp - 1), row.at(5), row.at(0) + " MB, last stage");
    expect_vocab(rules, s, step, row, 6);
  }
}

TEST(Galvatron3Costs, OfTheProfilesOfItsSearchTests) {
  const auto rules = search_test_rules();
  const auto table = rows("search_tests/costs.txt");
  EXPECT_EQ(table.size(), 10u);
  for (const auto& row : table) {
    const g3::Step step = {std::stoll(row.at(0)), std::stoll(row.at(1))};
    const auto s = strategy_named(row.at(2));
    const auto layer = rules.layer_seconds(s, step);
    expect_printed(layer.with, row.at(3), row.at(2) + " with sync");
    expect_printed(layer.without, row.at(4), row.at(2) + " without sync");
    expect_printed(rules.layer_mb(s, step, 0), row.at(5), row.at(2) + " MB");
    expect_vocab(rules, s, step, row, 6);
  }
}

TEST(Galvatron3Costs, RedistributionsAndBiases) {
  const auto rules = shipped_rules();
  const auto plain = strategy_named("1-1-8");
  const auto split = strategy_named("1-2*-4");
  EXPECT_NEAR(rules.redistribution_seconds(plain, split, {32, 8}, g3::published_unit), 6.1e-3, 0.05e-3);
  EXPECT_NEAR(rules.redistribution_seconds(plain, split, {32, 8}, g3::physical_unit), 0.06e-3, 0.005e-3);
  EXPECT_EQ(rules.redistribution_seconds(split, strategy_named("1-2*-4-sp"), {32, 8}, 1.0), 0);
  const auto bias = [](const char* from, const char* to) {
    return g3::Rules::bias_seconds(strategy_named(from), strategy_named(to));
  };
  EXPECT_EQ(bias("1-2*-4", "1-2*-4-sp"), 1e-10);
  EXPECT_EQ(bias("1-2*-4-sp", "1-2*-4"), 0);
  EXPECT_EQ(bias("1-1-8", "1-1-8f"), 1e-9);
  EXPECT_EQ(bias("1-1-8", "1-1-8-c"), 2e-9);
  EXPECT_EQ(bias("1-1-8f", "1-1-8f-c"), 3e-9);
  EXPECT_EQ(bias("1-1-8f", "1-1-8-c"), 1e-9);
  EXPECT_EQ(bias("1-1-8f-c", "1-1-8"), 0);
}

TEST(Galvatron3Costs, MemoryBudgetJumpsAtTwentyOneGigabytes) {
  EXPECT_EQ(g3::budget_of(20 * 1024).usable_mb, 20480);
  EXPECT_EQ(g3::budget_of(24 * 1024).usable_mb, 19661);
  EXPECT_EQ(g3::budget_of(36 * 1024).reserved_mb, 7372);
}

TEST(Galvatron3Costs, TheLastStageHasTheRemainder) {
  EXPECT_EQ(plan::galvatron3::even_stages(30, 4), (std::vector<int64_t>{7, 7, 7, 9}));
  EXPECT_EQ(plan::galvatron3::even_stages(7, 4), (std::vector<int64_t>{1, 1, 1, 4}));
}

}  // namespace
}  // namespace galvatron::test::galvatron3
