// Every plan computes what one rank computes. Up to four ranks every uniform plan is played, on six a cover
// in which every pair of choices meets (GALVATRON_TEST_FULL plays all of them); the long AdamW runs are made
// for such a cover everywhere. Then plans whose layers all differ.

#include "support/plan_job.hpp"

namespace galvatron::testing {
namespace {

class PlanParity : public PlanJob {};

TEST_F(PlanParity, UniformPlansEqualOneRank) {
  const auto model = variant_model({});
  const auto all = uniform_plans(model, world().size(), 12, {1, 2, 4});
  const auto cover = pairwise_cover(all);
  const auto& played = world().size() <= 4 || play_everything() ? all : cover;
  for (const auto& plan : played) check().gradients(plan, model);
  say("uniform plans, gradients and SGD", played.size(), all.size());
  const auto& trained = play_everything() ? all : cover;
  for (const auto& plan : trained) check().training(plan, model);
  say("uniform plans, AdamW", trained.size(), all.size());
}

TEST_F(PlanParity, MixedPlansEqualOneRank) {
  const uint64_t count = play_everything() ? 200 : 32;
  say_seed();
  for (uint64_t i = 0; i < count; ++i) {
    const auto model = variant_model(variants()[i % variants().size()]);
    const auto plan = mixed_plan(model, world().size(), 10, test_seed(), i);
    check().gradients(plan, model);
    if (i % 4 == 0 || play_everything()) check().training(plan, model);
  }
  say("mixed plans drawn from the seed", count, count);
}

/// Embedding and head with stages of their own, fewer micro-batches than stages, uneven samples, all at once.
TEST_F(PlanParity, StagesOfOneLayerEqualOneRank) {
  const auto pp = std::min(world().size(), 6);
  const auto ranks = world().size() / pp;
  size_t played = 0;
  for (const auto& variant : variants())
    for (const int64_t micros : {1, 2, 5})
      for (const auto schedule : {plan::ScheduleKind::one_f_one_b, plan::ScheduleKind::gpipe}) {
        const auto model = variant_model(variant);
        auto plan = uniform_plan(model, pp, 1, ranks, 1, spec::Recompute::none, 10, micros);
        plan.schedule = schedule;
        // The middle stage takes what is left: 1, 1, …, 6 − pp + 1, …, 1.
        int64_t next = 0;
        for (int64_t s = 0; s < pp; ++s) {
          const auto size = s == pp / 2 ? model.size() - pp + 1 : 1;
          plan.stages[static_cast<size_t>(s)] = {next, next + size - 1};
          next += size;
        }
        check().gradients(plan, model);
        ++played;
      }
  say("stages of one layer", played, played);
}

}  // namespace
}  // namespace galvatron::testing
