// galvatron run, profile, search, train: stories made of phases.

#include <numeric>

#include "app/events.hpp"
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

/// The best plan, searched for and tried; the seconds it took go to `before`. Nothing when the user asked to
/// stop.
std::optional<plan::Plan> find_plan(Job& job, const Data& data, const cost::Profile& profile,
                                    Before& before) {
  const runtime::Timed timed(before.sections, runtime::Section::search);
  const auto searched = search_phase(job, profile);
  if (!searched.found) return std::nullopt;
  return trial_phase(job, data, *searched.found).front().plan;
}

ProfilePhase profile_of(Job& job, const Data* data) {
  auto machine = profile_phase(job, data);
  const auto& profile = machine.profile;
  note(job, "profile",
       core::format("{} links, {} collectives, {} layer steps{}", profile.hardware.links.size(),
                    profile.hardware.collectives.size(), profile.model.steps.size(),
                    machine.stopped() ? "; stopped by the user" : ""));
  return machine;
}

ProfilePhase measured(Job& job, const Data& data, Before& before) {
  const runtime::Timed timed(before.sections, runtime::Section::profile);
  auto measured = profile_of(job, &data);
  const auto& flops = measured.profile.hardware.gemm_flops;
  if (!flops.empty())
    before.peak_flops = std::accumulate(flops.begin(), flops.end(), 0.0) / static_cast<double>(flops.size());
  return measured;
}

/// The data where there are any to be read: a machine can be measured without.
std::optional<Data> data_if_any(Job& job) {
  try {
    return load_data(job);
  } catch (const core::AgreedError& error) {
    if (error.code() != core::ExitCode::data) throw;
    job.log().info("the loader is not measured: " + std::string(error.what()));
    return std::nullopt;
  }
}

/// The user touched STOP before training.
core::ExitCode stopped_by_user(Job& job) {
  job.context().result.set("stopped", "user");
  return core::ExitCode::finished;
}

}  // namespace

core::ExitCode run_verb(Context& context) {
  Job job(context);
  if (job.finished()) return already_finished(job);
  Before before;
  // 1. What there is to learn from.
  const auto data = load_data(job);
  // 2. How fast this machine is.
  const auto machine = measured(job, data, before);
  if (machine.stopped()) return stopped_by_user(job);
  // 3. How to divide the work.
  auto plan = given_plan(job);
  if (plan)
    plan = priced(job, *plan, machine.profile);
  else
    plan = find_plan(job, data, machine.profile, before);
  if (!plan) return stopped_by_user(job);
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
    const auto machine = measured(job, data, before);
    if (machine.stopped()) return stopped_by_user(job);
    plan = find_plan(job, data, machine.profile, before);
    if (!plan) return stopped_by_user(job);
  }
  keep_plan(job, *plan);
  return train_phase(job, data, *plan, before);
}

core::ExitCode profile_verb(Context& context) {
  Job job(context);
  const auto data = data_if_any(job);
  const auto machine = profile_of(job, data ? &*data : nullptr);
  const auto& profile = machine.profile;
  context.result.set("links", static_cast<int64_t>(profile.hardware.links.size()));
  context.result.set("signatures", static_cast<int64_t>(profile.model.steps.size()));
  if (machine.stopped()) return stopped_by_user(job);
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
  const auto machine = profile_of(job, nullptr);
  if (machine.stopped()) return stopped_by_user(job);
  const auto searched = search_phase(job, machine.profile);
  if (!searched.found) return stopped_by_user(job);
  const auto& found = *searched.found;
  const auto& best = found.best.front().candidate;
  keep_plan(job, best.plan);
  context.result.set("predicted_step_s", best.plan.predicted_step_seconds);
  context.result.set("predicted_peak_bytes", best.memory_bytes);
  context.result.set("tasks", found.statistics.tasks);
  return core::ExitCode::finished;
}

}  // namespace galvatron::app
