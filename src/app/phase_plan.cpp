// Which plan is played: plan.file, a plan by hand, the run folder's, or a new search.

#include <algorithm>
#include <map>

#include "app/alone.hpp"
#include "app/deck_plan.hpp"
#include "app/events.hpp"
#include "app/galvatron3.hpp"
#include "app/phases.hpp"
#include "core/format.hpp"
#include "cost/group_reserve.hpp"
#include "cost/plan_price.hpp"
#include "plan/by_hand.hpp"
#include "search/report.hpp"

namespace galvatron::app {
namespace {

std::optional<plan::Plan> plan_of_folder(Job& job) {
  const auto path = job.paths().plan();
  const auto text = read_shared(job.world(), "read " + path.string(), [&] {
    return std::filesystem::exists(path) ? read_text(path.string()) : std::string();
  });
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
    else if (!batches.empty() && std::find(batches.begin(), batches.end(), plan->batch) == batches.end())
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
  const auto& file = job.deck().plan.file;
  const auto world = job.world().size();
  std::optional<plan::Plan> plan;
  if (!file.empty()) {
    const auto text = read_shared(job.world(), "read the plan", [&] { return read_text(file); });
    job.world().agree("", [&] { plan = plan_from_text(text, file, job.model(), world); });
    job.world().agree("check the plan", [&] { require_legal(*plan, job.model(), world, file); });
    job.log().info("plan: " + file);
    return plan;
  }
  job.world().agree("", [&] { plan = plan_by_hand(job.deck(), job.model(), world); });
  if (plan) {
    job.log().info("plan: by hand, [plan]");
    return plan;
  }
  plan = plan_of_folder(job);
  if (plan) job.log().info("plan: " + job.paths().plan().string() + ", found in the run folder");
  if (!plan && asks_galvatron3(job.deck())) plan = galvatron3_plan(job);
  return plan;
}

plan::Plan galvatron3_plan(Job& job) {
  const auto& g = job.deck().galvatron;
  std::map<std::string, std::string> texts;
  for (const auto& file : {g.allreduce, g.p2p, g.overlap, g.sp_time, g.computation, g.memory})
    texts[file] = read_shared(job.world(), "read " + file, [&] { return read_text(file); });
  Galvatron3Answer answer;
  job.world().agree("", [&] {
    answer = ask_galvatron3(job.deck(), job.model(), job.cluster(),
                            [&](const std::string& file) { return texts.at(file); });
  });
  job.log().info("\n" + answer.text);
  job.world().agree("write strategy.json", [&] {
    if (job.world().rank() == 0) write_text(job.paths().root / "strategy.json", answer.strategies);
  });
  return answer.plan;
}

plan::Plan plan_for_looking(Job& job) {
  if (auto plan = given_plan(job)) return *plan;
  plan::UniformPlan wish;
  wish.world = job.world().size();
  // As many samples as training takes, at least one for every rank, the same number for each.
  const auto& search = job.deck().search;
  const auto batch = search.grows_batch() ? wish.world : search.batch.front();
  wish.batch = (batch + wish.world - 1) / wish.world * wish.world;
  wish.zero = wish.world > 1 ? 3 : 0;
  plan::Plan plan;
  job.world().agree("divide the samples", [&] { plan = plan::plan_by_hand(wish, job.model()); });
  job.log().info(core::format("plan: {} samples over {} ranks", wish.batch, wish.world));
  return plan;
}

plan::Plan priced(Job& job, plan::Plan plan, const cost::Profile& profile) {
  // A file says which forms it wants; what is divided by hand talks as the profile found to be fastest.
  if (job.deck().plan.file.empty() && plan.forms.empty())
    plan.forms = cost::forms_of(plan, job.model(), profile.hardware.forms, job.cluster());
  const auto& deck = job.deck();
  const auto price =
      cost::price_plan(plan, job.model(), runtime::dtype_of(deck.train), profile, job.cluster(),
                       job.workspace(), cost::overlap_of(deck.train, deck.checkpoint));
  plan = cost::with_predictions(std::move(plan), price, profile);
  plan.model_fingerprint = spec::fingerprint(job.model());
  return plan;
}

void keep_plan(Job& job, const plan::Plan& plan) {
  const auto text = plan::to_toml(plan, job.model());
  require_same(job.world(), "the plan", text);
  job.world().agree("write plan.toml", [&] {
    if (job.world().rank() != 0) return;
    write_text(job.paths().plan(), text);
    std::error_code ignored;
    std::filesystem::remove(job.paths().kept_search(), ignored);  // the plan is what it was kept for
  });
  job.log().info("\n" + search::plan_table(plan, job.model()));
  note(job, "plan", search::outline(plan));
}

}  // namespace galvatron::app
