// The same promise without the rounding of fp32: what is left over in double precision is no mistake of a
// plan's arithmetic.

#include "support/plan_job.hpp"

namespace galvatron::testing {
namespace {

/// The fp64 kernels are slow: half the width.
constexpr int64_t hidden = 24;

class PlanParity64 : public PlanJob {};

TEST_F(PlanParity64, EveryUniformPlanEqualsOneRank) {
  const auto model = variant_model({}, hidden);
  const auto all = uniform_plans(model, world().size(), 12, {1, 2, 4});
  const auto played = world().size() <= 3 || play_everything() ? all : pairwise_cover(all);
  for (const auto& plan : played) check().fp64(plan, model, 2);
  say("uniform plans in fp64", played.size(), all.size());
}

TEST_F(PlanParity64, MixedPlansEqualOneRank) {
  const uint64_t count = play_everything() ? 200 : 24;
  say_seed();
  for (uint64_t i = 0; i < count; ++i) {
    const auto model = variant_model(variants()[i % variants().size()], hidden);
    check().fp64(mixed_plan(model, world().size(), 10, test_seed() + 1, i), model, 5);
  }
  say("mixed plans in fp64", count, count);
}

}  // namespace
}  // namespace galvatron::testing
