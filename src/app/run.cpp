// galvatron run, profile, search, train: stories made of phases.

#include <numeric>

#include "app/galvatron3.hpp"
#include "app/phases.hpp"
#include "app/verbs.hpp"
#include "core/format.hpp"

namespace galvatron::app {
namespace {

core::ExitCode already_finished(Job& job) {
  job.log().info(core::format("{} holds a finished run of {} steps: nothing to do", job.paths().root.string(),
                              job.deck().train.steps));
  job.context().result.set("stopped", "finished");
  return core::ExitCode::finished;
}

/// The best plan, searched for and tried; the seconds it took go to `before`.
plan::Plan find_plan(Job& job, const Data& data, const cost::Profile& profile, Before& before) {
  const runtime::Timed timed(before.sections, runtime::Section::search);
  const auto found = search_phase(job, profile);
  return trial_phase(job, data, found).front().plan;
}

cost::Profile measured(Job& job, Before& before) {
  const runtime::Timed timed(before.sections, runtime::Section::profile);
  auto profile = profile_phase(job);
  const auto& flops = profile.hardware.gemm_flops;
  if (!flops.empty())
    before.peak_flops = std::accumulate(flops.begin(), flops.end(), 0.0) / static_cast<double>(flops.size());
  return profile;
}

}  // namespace

core::ExitCode run_verb(Context& context) {
  Job job(context);
  if (job.finished()) return already_finished(job);
  Before before;
  // 1. What there is to learn from.
  const auto data = load_data(job);
  // 2. How fast this machine is.
  const auto profile = measured(job, before);
  // 3. How to divide the work.
  auto plan = given_plan(job);
  if (plan)
    plan = priced(job, *plan, profile);
  else
    plan = find_plan(job, data, profile, before);
  keep_plan(job, *plan);
  // 4. Do it.
  return train_phase(job, data, *plan, before);
}

core::ExitCode train_verb(Context& context) {
  Job job(context);
  if (job.finished()) return already_finished(job);
  Before before;
  const auto data = load_data(job);
  auto plan = given_plan(job);
  if (!plan) {
    const auto profile = measured(job, before);
    plan = find_plan(job, data, profile, before);
  }
  keep_plan(job, *plan);
  return train_phase(job, data, *plan, before);
}

core::ExitCode profile_verb(Context& context) {
  Job job(context);
  const auto profile = profile_phase(job);
  context.result.set("links", static_cast<int64_t>(profile.hardware.links.size()));
  context.result.set("signatures", static_cast<int64_t>(profile.model.steps.size()));
  return core::ExitCode::finished;
}

core::ExitCode search_verb(Context& context) {
  Job job(context);
  if (asks_galvatron3(job.deck())) {
    const auto plan = galvatron3_plan(job);
    keep_plan(job, plan);
    context.result.set("predicted_step_s", plan.predicted_step_seconds);
    return core::ExitCode::finished;
  }
  const auto profile = profile_phase(job);
  const auto found = search_phase(job, profile);
  const auto& best = found.best.front().candidate;
  keep_plan(job, best.plan);
  context.result.set("predicted_step_s", best.plan.predicted_step_seconds);
  context.result.set("predicted_peak_bytes", best.memory_bytes);
  context.result.set("tasks", found.statistics.tasks);
  return core::ExitCode::finished;
}

}  // namespace galvatron::app
