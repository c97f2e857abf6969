// Every recorded search of the Python Galvatron 3.0: its objective alone gives the same throughput and plan,
// and with ours beside it none is worse.

#include "support/galvatron3_searches.hpp"

namespace galvatron::test::galvatron3 {
namespace {

std::string vocab_text(const s3::Found& found) {
  const auto& v = found.vocab;
  return std::to_string(v.width()) + (v.sp > 1 ? "/1" : "/0") + (v.type == g3::DpType::zero3 ? "/1" : "/0");
}

std::vector<std::string> plan_text(const s3::Found& found) {
  std::string left;
  for (const auto mb : found.left_mb) left += (left.empty() ? "" : ",") + std::to_string(mb);
  return {std::to_string(found.step.chunks),
          std::to_string(found.stages),
          name_of(found.mode),
          std::to_string(found.buffer_width),
          vocab_text(found),
          left,
          layers_text(found)};
}

/// Seconds with sync and whole megabytes of the layers on each stage.
std::vector<std::pair<double, int64_t>> sums_of(const std::string& layers, const g3::Rules& rules,
                                                const g3::Step& step) {
  std::vector<std::pair<double, int64_t>> out;
  for (const auto& stage : cut_at(layers, '|')) {
    std::pair<double, int64_t> sum;
    for (const auto& run : cut_at(stage, ',')) {
      const auto x = run.find('x');
      const auto count = std::stoll(run.substr(0, x));
      const auto s = strategy_named(run.substr(x + 1));
      const auto mb = rules.layer_mb(s, step, static_cast<int64_t>(out.size()));
      sum.first += static_cast<double>(count) * rules.layer_seconds(s, step).with;
      sum.second += count * static_cast<int64_t>(std::ceil(mb));
    }
    out.push_back(sum);
  }
  return out;
}

/// The same plan, or one that the objective cannot tell from it but for biases.
void expect_same_or_tied(const std::string& got, const std::string& recorded, const g3::Rules& rules,
                         const g3::Step& step) {
  if (got == sorted_runs(recorded)) return;
  const auto ours = sums_of(got, rules, step);
  const auto theirs = sums_of(recorded, rules, step);
  ASSERT_EQ(ours.size(), theirs.size()) << got << " for " << recorded;
  for (size_t stage = 0; stage < ours.size(); ++stage) {
    EXPECT_NEAR(ours[stage].first, theirs[stage].first, 1e-9) << got << " for " << recorded;
    EXPECT_EQ(ours[stage].second, theirs[stage].second) << got << " for " << recorded;
  }
}

class Galvatron3Searches : public testing::TestWithParam<SearchRow> {};

TEST_P(Galvatron3Searches, ByItsObjectiveGivesTheSame) {
  const auto& row = GetParam();
  auto options = row.options;
  options.objectives = {s3::Objective::published};
  const auto rules = rules_of(row);
  const auto outcome = s3::search(rules, options);
  ASSERT_EQ(outcome.best.has_value(), row.throughput > 0);
  if (!outcome.best) return;
  EXPECT_NEAR(outcome.best->throughput(), row.throughput, 1e-6 * row.throughput);
  const auto plan = plan_text(*outcome.best);
  for (size_t i = 0; i + 1 < plan.size(); ++i) {
    if (row.plan.at(i) != "?") {
      EXPECT_EQ(plan[i], row.plan[i]) << "column " << i;
    }
  }
  if (row.plan.back() != "?") expect_same_or_tied(plan.back(), row.plan.back(), rules, outcome.best->step);
}

TEST_P(Galvatron3Searches, WithOursIsNeverWorse) {
  const auto& row = GetParam();
  const auto outcome = s3::search(rules_of(row), row.options);
  EXPECT_NE(outcome.best.has_value(), outcome.miss.has_value());
  if (row.throughput == 0) return;
  ASSERT_TRUE(outcome.best);
  EXPECT_GE(outcome.best->throughput(), row.throughput * (1 - 1e-8));
  EXPECT_EQ(outcome.statistics.paths.not_proven, 0);
}

INSTANTIATE_TEST_SUITE_P(Rows, Galvatron3Searches, testing::ValuesIn(search_rows()),
                         [](const auto& info) { return "row" + std::to_string(info.index); });

}  // namespace
}  // namespace galvatron::test::galvatron3
