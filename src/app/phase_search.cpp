// The distributed search, and reality's last word on it: trials.

#include <algorithm>
#include <limits>

#include "app/alone.hpp"
#include "app/events.hpp"
#include "app/kept_search.hpp"
#include "app/phases.hpp"
#include "core/format.hpp"
#include "core/units.hpp"
#include "runtime/loader.hpp"
#include "runtime/session.hpp"
#include "search/deal.hpp"
#include "search/report.hpp"

namespace galvatron::app {
namespace {

constexpr int64_t trial_warm_up = 1;
constexpr int64_t trial_steps = 4;
/// Each plan has a turn in every round, the second time in reverse: what else the machine does for a while
/// meets different plans, and a plan counts as it was when it was disturbed least.
constexpr int trial_rounds = 2;

/// Collective: ends the job when any rank was asked to stop. A new attempt finds the same again.
void stop_if_asked(Job& job, runtime::Request asked, std::string_view phase) {
  job.world().agree("", [&] {
    if (asked == runtime::Request::stop_requeue)
      throw core::Error(core::ExitCode::requeue,
                        core::format("stopped in the {}; profile and search are kept", phase));
  });
}

runtime::Request asked_of(Job& job) {
  const bool stop = job.context().ranks->signals().stop_requested();
  return stop ? runtime::Request::stop_requeue : runtime::Request::none;
}

/// Median step seconds of the slowest rank, on state that is thrown away.
double try_plan(Job& job, const Data& data, const plan::Plan& plan) {
  const auto& deck = job.deck();
  const auto seed = static_cast<uint64_t>(deck.run.seed);
  runtime::SessionOptions options;
  options.dtype = runtime::dtype_of(deck.train);
  options.seed = seed;
  options.pat = [&job](std::string_view action) { job.pat(action); };
  runtime::Session session(job.world(), job.device(), job.kernels(), plan, job.model(), options);
  store::BlendOrder order(seed, data.parts, job.model().seq, "data.train");
  runtime::Loader loader(
      *data.train, [&](int64_t sample) { return order.offset_of(sample); }, plan, job.model(),
      job.world().rank());
  std::vector<double> seconds;
  for (int64_t step = 0; step < trial_warm_up + trial_steps; ++step) {
    loader.seek(step * plan.batch);
    const auto result = session.step(loader, deck.train, step, asked_of(job));
    stop_if_asked(job, result.request, "trials");
    auto mine = result.seconds;
    job.world().all_reduce(std::span(&mine, 1), core::ReduceOp::max);
    if (step >= trial_warm_up) seconds.push_back(mine);
  }
  std::sort(seconds.begin(), seconds.end());
  return seconds[seconds.size() / 2];
}

/// Nothing when it was stopped; what it knows by then is in the run folder.
std::optional<search::SearchResult> kept_search(Job& job, const cost::Profile& profile, Requests& requests) {
  KeptSearch queue(job, requests);
  if (queue.known() > 0)
    job.log().info(
        core::format("search: goes on with {} rounds that an earlier attempt left", queue.known()));
  const auto options = search::options_from_deck(job.deck().search, runtime::dtype_of(job.deck().train),
                                                 cost::overlap_of(job.deck().train, job.deck().checkpoint));
  std::optional<search::SearchResult> found;
  try {
    found = search::search(job.model(), queue.cluster(), profile, options, job.workspace(), queue);
  } catch (const search::Stopped&) {
    job.log().info("search: stopped; what it knows is in " + job.paths().kept_search().string());
  }
  queue.write();
  return found;
}

}  // namespace

SearchPhase search_phase(Job& job, const cost::Profile& profile) {
  job.pat("search");
  Requests requests(job);
  auto result = kept_search(job, profile, requests);
  const auto asked = requests.agreed();
  job.world().agree("", [&] {
    if (asked == runtime::Request::stop_requeue)
      throw core::Error(core::ExitCode::requeue, "stopped in the search; the next start goes on with it");
  });
  if (!result) return {};
  auto& found = *result;
  job.world().agree("", [&] {
    if (found.best.empty())
      throw core::UserError(core::ExitCode::no_plan, search::infeasible_text(*found.infeasible));
  });
  const auto text = search::ranking_table(found);
  job.log().info("\nSearch\n" + text);
  job.world().agree("write search.txt", [&] {
    if (job.world().rank() == 0)
      write_text(job.paths().root / "search.txt",
                 text + "\n" + search::space_tree(found.space, search::Kinds(job.model())));
  });
  note_search(job, found);
  return {std::move(result)};
}

std::vector<Trial> trial_phase(Job& job, const Data& data, const search::SearchResult& found) {
  const auto count = std::min<int64_t>(job.deck().search.trials, static_cast<int64_t>(found.best.size()));
  std::vector<Trial> trials;
  if (count == 0) return {{found.best.front().candidate.plan, 0.0}};
  job.log().info(core::format("Trials of the best {} plans, {} rounds of {} steps each\n{:>10} {:>10}  plan",
                              count, trial_rounds, trial_steps, "predicted", "measured"));
  for (int64_t i = 0; i < count; ++i)
    trials.push_back(
        {found.best[static_cast<size_t>(i)].candidate.plan, std::numeric_limits<double>::infinity()});
  renew_kernels(job);
  for (int round = 0; round < trial_rounds; ++round)
    for (int64_t turn = 0; turn < count; ++turn) {
      auto& trial = trials[static_cast<size_t>(round % 2 == 0 ? turn : count - 1 - turn)];
      trial.measured_seconds = std::min(trial.measured_seconds, try_plan(job, data, trial.plan));
    }
  for (int64_t i = 0; i < count; ++i) {
    const auto& trial = trials[static_cast<size_t>(i)];
    note_trial(job, i, trial);
    job.log().info(core::format("{:>10} {:>10}  {}", core::format_seconds(trial.plan.predicted_step_seconds),
                                core::format_seconds(trial.measured_seconds), search::outline(trial.plan)));
  }
  // Plans of different batches compare by samples per second.
  std::stable_sort(trials.begin(), trials.end(), [](const Trial& a, const Trial& b) {
    return a.measured_seconds / static_cast<double>(a.plan.batch) <
           b.measured_seconds / static_cast<double>(b.plan.batch);
  });
  return trials;
}

}  // namespace galvatron::app
