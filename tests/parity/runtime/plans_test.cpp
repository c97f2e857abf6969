// Every plan computes what one rank computes. Up to three ranks every uniform plan is played, on four every
// one with two micro-batches, else a cover in which every pair of choices meets (GALVATRON_TEST_FULL plays
// all); the long AdamW runs are made for such a cover everywhere. Then plans whose layers all differ.

#include <algorithm>

#include "support/plan_job.hpp"

namespace galvatron::testing {
namespace {

class PlanParity : public PlanJob {};

/// Up to three ranks all; on four all with two micro-batches, and the cover of the others; on more the cover.
std::vector<plan::Plan> chosen(const std::vector<plan::Plan>& all, const std::vector<plan::Plan>& cover,
                               int ranks) {
  if (ranks <= 3 || play_everything()) return all;
  auto played = cover;
  if (ranks > 4) return played;
  for (const auto& plan : all)
    if (plan.microbatches == 2 && std::find(cover.begin(), cover.end(), plan) == cover.end())
      played.push_back(plan);
  return played;
}

TEST_F(PlanParity, UniformPlansEqualOneRank) {
  const auto gpt = variant_model({}), other = variant_model(llama);
  const auto all = uniform_plans(gpt, world().size(), 12, {1, 2, 4});
  const auto cover = pairwise_cover(all);
  // The families take turns; a few splits of heads are legal for one of them only.
  const auto model_for = [&](size_t i, const plan::Plan& plan) -> const spec::ModelSpec& {
    return i % 2 == 1 && plan::faults_of(plan, other, plan.world).empty() ? other : gpt;
  };
  const auto played = chosen(all, cover, world().size());
  for (size_t i = 0; i < played.size(); ++i) check().gradients(played[i], model_for(i, played[i]));
  say("uniform plans, gradients and SGD", played.size(), all.size());
  const auto& trained = play_everything() ? all : cover;
  for (size_t i = 0; i < trained.size(); ++i) check().training(trained[i], model_for(i, trained[i]));
  say("uniform plans, AdamW", trained.size(), all.size());
}

/// Every axis alone on all ranks, both families, with and without recomputation, one sample or more for each
/// rank.
TEST_F(PlanParity, EveryAxisAloneEqualsOneRank) {
  const auto ranks = static_cast<int32_t>(world().size());
  size_t played = 0, all = 0;
  for (const auto& variant : {Variant{}, llama})
    for (const auto member : {&spec::LayerStrategy::tp, &spec::LayerStrategy::sp, &spec::LayerStrategy::cp,
                              &spec::LayerStrategy::dp})
      for (const auto recompute : {spec::Recompute::none, spec::Recompute::full}) {
        const auto model = variant_model(variant);
        auto plan = uniform_plan(model, 1, 1, 1, 1, recompute, 2 * ranks, 2);
        plan.world = ranks;
        for (auto& layer : plan.layers) layer.*member = ranks;
        ++all;
        if (!plan::faults_of(plan, model, ranks).empty()) continue;
        check().gradients(plan, model);
        check().training(plan, model);
        ++played;
      }
  say("every axis alone", played, all);
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
