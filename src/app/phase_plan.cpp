// Which plan is played: plan.file, a plan by hand, the run folder's, or a new search.

#include <algorithm>

#include "app/alone.hpp"
#include "app/phases.hpp"
#include "core/format.hpp"
#include "cost/plan_price.hpp"
#include "plan/by_hand.hpp"
#include "search/report.hpp"

namespace galvatron::app {
namespace {

/// A text file as rank 0 sees it; empty when it is not there.
std::string shared_text(Job& job, const std::filesystem::path& path) {
  std::string text;
  job.world().agree("read " + path.string(), [&] {
    if (job.world().rank() == 0 && std::filesystem::exists(path)) text = read_text(path.string());
  });
  return job.world().broadcast(std::move(text), 0);
}

void require_legal(Job& job, const plan::Plan& plan, const std::string& origin) {
  job.world().agree("check the plan", [&] {
    const auto faults = plan::faults_of(plan, job.model(), job.world().size());
    if (!faults.empty()) throw core::UserError(core::format("{}:\n  {}", origin, core::join(faults, "\n  ")));
  });
}

std::optional<plan::Plan> plan_of_folder(Job& job) {
  const auto text = shared_text(job, job.paths().plan());
  if (text.empty()) return std::nullopt;
  std::string refusal;
  std::optional<plan::Plan> plan;
  try {
    plan = plan::plan_from_toml(text, job.paths().plan().string(), job.model());
    const auto& batches = job.deck().search.batch;
    if (plan->model_fingerprint != spec::fingerprint(job.model()))
      refusal = "it is for another model";
    else if (plan->world != job.world().size())
      refusal = core::format("it is for {} ranks", plan->world);
    else if (std::find(batches.begin(), batches.end(), plan->batch) == batches.end())
      refusal = core::format("its batch {} is not in search.batch", plan->batch);
    else if (const auto faults = plan::faults_of(*plan, job.model(), job.world().size()); !faults.empty())
      refusal = faults.front();
  } catch (const core::UserError& error) {
    refusal = error.what();
  }
  if (refusal.empty()) return plan;
  job.log().info(core::format("{} is not used: {}", job.paths().plan().string(), refusal));
  return std::nullopt;
}

}  // namespace

std::optional<plan::Plan> given_plan(Job& job) {
  const auto& section = job.deck().plan;
  if (!section.file.empty()) {
    std::string text;
    job.world().agree("read the plan", [&] {
      if (job.world().rank() == 0) text = read_text(section.file);
    });
    text = job.world().broadcast(std::move(text), 0);
    std::optional<plan::Plan> plan;
    job.world().agree("", [&] { plan = plan::plan_from_toml(text, section.file, job.model()); });
    require_legal(job, *plan, section.file);
    job.log().info("plan: " + section.file);
    return plan;
  }
  if (section.by_hand() || !job.deck().search.enabled) {
    std::optional<plan::Plan> plan;
    job.world().agree("", [&] {
      plan = plan::plan_by_hand(
          plan::uniform_from_deck(section, job.world().size(), job.deck().search.batch.front()), job.model());
    });
    job.log().info("plan: by hand, [plan]");
    return plan;
  }
  auto plan = plan_of_folder(job);
  if (plan) job.log().info("plan: " + job.paths().plan().string() + ", found in the run folder");
  return plan;
}

plan::Plan priced(Job& job, plan::Plan plan, const cost::Profile& profile) {
  cost::LayerPricer pricer(profile, job.cluster(), job.workspace());
  const auto price = cost::price_plan(plan, job.model(), runtime::dtype_of(job.deck().train), pricer);
  plan = cost::with_predictions(std::move(plan), price, profile);
  plan.model_fingerprint = spec::fingerprint(job.model());
  return plan;
}

void keep_plan(Job& job, const plan::Plan& plan) {
  require_same(job.world(), "the plan", plan::to_toml(plan, job.model()));
  job.world().agree("write plan.toml", [&] {
    if (job.world().rank() != 0) return;
    write_text(job.paths().plan(), plan::to_toml(plan, job.model()));
  });
  job.log().info("\n" + search::plan_table(plan, job.model()));
}

}  // namespace galvatron::app
