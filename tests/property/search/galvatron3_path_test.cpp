// The stage solver of Galvatron's rules against trying every sequence of choices, and bounds against plans.

#include <limits>
#include <random>

#include "core/errors.hpp"
#include "search/galvatron3/task.hpp"
#include "support/galvatron3_searches.hpp"

namespace galvatron::test::galvatron3 {
namespace {

/// Choices of a few classes; going to another class costs more, biases within one are tiny. No detour is
/// cheaper than the direct way.
s3::PathProblem random_problem(std::mt19937& random) {
  const auto pick = [&](int64_t low, int64_t high) {
    return std::uniform_int_distribution<int64_t>(low, high)(random);
  };
  s3::PathProblem problem;
  problem.layers = pick(1, 6);
  const auto count = pick(1, 5);
  std::vector<int64_t> classes;
  for (int64_t i = 0; i < count; ++i) {
    classes.push_back(pick(0, 2));
    problem.choices.push_back({static_cast<double>(pick(1, 40)) * 0.01, pick(1, 20)});
  }
  problem.budget = problem.layers * pick(1, 20) + pick(-2, 2);
  const double costs[] = {0, static_cast<double>(pick(0, 9)) * 0.01, static_cast<double>(pick(9, 18)) * 0.01};
  for (int64_t i = 0; i < count; ++i)
    for (int64_t j = 0; j < count; ++j) {
      const auto a = classes[static_cast<size_t>(i)], b = classes[static_cast<size_t>(j)];
      problem.between.push_back(a == b ? (i < j ? 1e-9 : 0) : costs[std::max(a, b)]);
    }
  return problem;
}

double by_trying(const s3::PathProblem& problem) {
  const auto count = problem.choices.size();
  double best = std::numeric_limits<double>::infinity();
  std::vector<size_t> choices(static_cast<size_t>(problem.layers), 0);
  while (true) {
    double seconds = 0;
    int64_t units = 0;
    for (size_t i = 0; i < choices.size(); ++i) {
      seconds += problem.choices[choices[i]].seconds;
      units += problem.choices[choices[i]].units;
      if (i > 0) seconds += problem.between[choices[i - 1] * count + choices[i]];
    }
    if (units <= problem.budget) best = std::min(best, seconds);
    size_t at = 0;
    while (at < choices.size() && ++choices[at] == count) choices[at++] = 0;
    if (at == choices.size()) return best;
  }
}

TEST(Galvatron3Path, IsTheBestOfAllSequences) {
  std::mt19937 random(20260630);
  for (int instance = 0; instance < 400; ++instance) {
    const auto problem = random_problem(random);
    s3::PathStatistics statistics;
    const auto path = s3::shortest_path(problem, statistics);
    const double expected = by_trying(problem);
    ASSERT_EQ(path.has_value(), std::isfinite(expected)) << "instance " << instance;
    if (!path) continue;
    EXPECT_NEAR(path->seconds, expected, 1e-12) << "instance " << instance;
    int64_t layers = 0, units = 0;
    double seconds = 0;
    for (size_t i = 0; i < path->blocks.size(); ++i) {
      const auto& block = path->blocks[i];
      layers += block.layers;
      units += block.layers * problem.choices[block.choice].units;
      seconds += static_cast<double>(block.layers) * problem.choices[block.choice].seconds;
      if (i > 0)
        seconds += problem.between[path->blocks[i - 1].choice * problem.choices.size() + block.choice];
    }
    EXPECT_EQ(layers, problem.layers) << "instance " << instance;
    EXPECT_EQ(units, path->units) << "instance " << instance;
    EXPECT_LE(units, problem.budget) << "instance " << instance;
    EXPECT_NEAR(seconds, path->seconds, 1e-12) << "instance " << instance;
    EXPECT_EQ(statistics.not_proven, 0);
  }
}

TEST(Galvatron3Path, NoBudgetNoPath) {
  s3::PathStatistics statistics;
  EXPECT_FALSE(s3::shortest_path({2, 9, {{1.0, 5}}, {0}}, statistics));
  EXPECT_FALSE(s3::shortest_path({2, -1, {{1.0, 5}}, {0}}, statistics));
  EXPECT_FALSE(s3::shortest_path({2, 9, {}, {}}, statistics));
}

/// The table that Galvatron 3.0 fills: least seconds by megabytes used at most and the last choice.
double by_table(const s3::PathProblem& problem) {
  const auto choices = problem.choices.size();
  const auto budget = static_cast<size_t>(problem.budget);
  std::vector<double> least(choices * (budget + 1), 0), entering(choices);
  for (int64_t layer = 0; layer < problem.layers; ++layer)
    for (size_t mb = budget + 1; mb-- > 0;)
      for (size_t to = 0; to < choices; ++to) {
        const auto units = static_cast<size_t>(problem.choices[to].units);
        double best = std::numeric_limits<double>::infinity();
        for (size_t from = 0; from < choices && units <= mb; ++from)
          best = std::min(best, least[(mb - units) * choices + from] +
                                    (layer > 0 ? problem.between[from * choices + to] : 0));
        least[mb * choices + to] = best + problem.choices[to].seconds;
      }
  const auto row = least.end() - static_cast<std::ptrdiff_t>(choices);
  return *std::min_element(row, least.end());
}

/// Its own stage problems, whole: 32 layers, its transitions and biases.
TEST(Galvatron3Path, IsTheBestOfItsTable) {
  const auto rules = shipped_rules();
  const g3::Step step = {32, 8};
  const auto layers = s3::layer_strategies({8, 32, 1, 4, 4, 1, s3::DpType::zero2, {}});
  const auto prices = s3::prices_of(rules, step, 1, 4, layers, {});
  for (const int64_t budget : {16500, 18700, 24000}) {
    s3::PathProblem problem;
    problem.layers = 32;
    problem.budget = budget / 4;
    // Four times coarser megabytes keep the table small.
    for (const auto& layer : prices.layers)
      problem.choices.push_back({layer.seconds.with, static_cast<int64_t>(std::ceil(layer.mb[0] / 4))});
    for (const auto& from : prices.layers)
      for (const auto& to : prices.layers) {
        const double moved =
            rules.redistribution_seconds(from.strategy, to.strategy, step, g3::published_unit);
        problem.between.push_back(moved > 0 ? moved : g3::Rules::bias_seconds(from.strategy, to.strategy));
      }
    s3::PathStatistics statistics;
    const auto path = s3::shortest_path(problem, statistics);
    ASSERT_TRUE(path) << budget;
    EXPECT_NEAR(path->seconds, by_table(problem), 1e-12) << budget;
  }
}

/// Tasks are left out by their bounds, so a bound above a plan would lose plans.
TEST(Galvatron3Task, NoPlanBeatsItsBound) {
  const auto rules = shipped_rules();
  for (const int64_t memory_mb : {9000, 17000, 30000, 60000}) {
    s3::SearchOptions options;
    options.space = {8, 32, 8, 8, 8, 1, s3::DpType::zero2, {}};
    options.memory_mb = memory_mb;
    const auto layers = s3::layer_strategies(options.space);
    for (const int64_t stages : {1, 4}) {
      const auto prices = s3::prices_of(rules, {32, 8}, stages, 4, layers, s3::vocab_strategies(layers));
      for (const auto mode : {s3::Mode::tp_only, s3::Mode::sp_only, s3::Mode::tp_with_sp}) {
        const s3::Task task(rules, options, prices, mode, 2);
        for (int64_t i = 0; i < task.candidates(); ++i)
          for (const auto objective : {s3::Objective::published, s3::Objective::own}) {
            s3::PathStatistics statistics;
            const auto found = task.solve(i, objective, statistics);
            if (!found) continue;
            EXPECT_LE(task.bound(i), found->seconds * (1 + 1e-12))
                << memory_mb << " MB, " << stages << " stages, " << name_of(mode) << ", candidate " << i;
          }
      }
    }
  }
}

/// Profiles with one absurd number: a plan, none, or a UserError, and always an end.
TEST(Galvatron3Search, AbsurdProfilesComeToAnEnd) {
  const std::string hardware_names[] = {"allreduce_bandwidth_1nodes_8gpus_per_node.json",
                                        "p2p_bandwidth_1nodes_8gpus_per_node.json",
                                        "overlap_coefficient.json", "sp_time_1nodes_8gpus_per_node.json"};
  std::vector<g3::Numbers> files;
  for (const auto& name : hardware_names) files.push_back(numbers("a100_8/" + name));
  files.push_back(numbers("a100_8/computation_profiling_bf16_llama2-7b_all.json"));
  files.push_back(numbers("a100_8/memory_profiling_bf16_llama2-7b_all.json"));
  const double factors[] = {0, -1, 1e-300, 1e-9, 1e-3, 30, 1e9, 1e200, 1e306};
  s3::SearchOptions options;
  options.space = {8, 32, 8, 8, 8, 2, s3::DpType::zero2, {}};
  options.batches = {16};
  options.chunks = 4;
  options.memory_mb = 36 * 1024;
  g3::Settings settings;
  settings.world = 8;
  std::mt19937 random(36);
  int refused = 0, planned = 0;
  for (int round = 0; round < 120; ++round) {
    auto bad = files;
    auto& values = bad[random() % bad.size()].values;
    values[random() % values.size()].second *= factors[random() % std::size(factors)];
    try {
      const g3::Rules rules(
          g3::hardware_of({bad[0], bad[1], bad[2], bad[3]}, 8),
          g3::model_of({bad[4], bad[5]}, {32, 4096, 2048, g3::TimeMode::batch, g3::MemoryMode::fixed, "_sp"}),
          settings);
      planned += s3::search(rules, options).best.has_value() ? 1 : 0;
    } catch (const core::UserError&) {
      ++refused;
    }
  }
  EXPECT_GT(refused, 20);
  EXPECT_GT(planned, 20);
}

}  // namespace
}  // namespace galvatron::test::galvatron3
