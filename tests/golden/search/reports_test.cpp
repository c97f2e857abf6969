// The plan file and the reports of a search on a frozen profile, as a person reads them.
#include "search/report.hpp"

#include <gtest/gtest.h>

#include "plan/plan.hpp"
#include "support/golden.hpp"
#include "support/models.hpp"
#include "support/profiles.hpp"

namespace galvatron::search {
namespace {

/// Three blocks on two nodes of two ranks, memory for less than the fastest plan.
struct Frozen {
  spec::ModelSpec model = test::small_model(3);
  spec::ClusterSpec cluster{2, 2, 500'000};
  cost::Profile profile = test::round_profile(2, 2);
  SearchOptions options;

  SearchResult run() const {
    core::LocalQueue queue;
    return search(model, cluster, profile, options, program::NoWorkspace(), queue);
  }
};

TEST(Golden, PlanAndReports) {
  Frozen frozen;
  frozen.options.batches = {8};
  const auto result = frozen.run();
  ASSERT_FALSE(result.best.empty());
  const auto& plan = result.best.front().candidate.plan;
  test::expect_golden("tests/golden/search/plan.toml", plan::to_toml(plan, frozen.model));
  test::expect_golden("tests/golden/search/report.txt", plan_table(plan, frozen.model) + "\n" +
                                                            ranking_table(result) + "\n" +
                                                            space_tree(result.space, Kinds(frozen.model)));
}

TEST(Golden, NothingFits) {
  Frozen frozen;
  frozen.options.batches = {64};
  frozen.options.zero = {0, 1};
  frozen.options.recompute = {spec::Recompute::none};
  frozen.cluster.memory_bytes = 120'000;
  const auto result = frozen.run();
  ASSERT_TRUE(result.infeasible.has_value());
  test::expect_golden("tests/golden/search/infeasible.txt", infeasible_text(*result.infeasible));
}

}  // namespace
}  // namespace galvatron::search
