#pragma once
// The phases of a run, one function each. Verbs are stories made of them.

#include <optional>
#include <vector>

#include "app/job.hpp"
#include "cost/profile.hpp"
#include "plan/plan.hpp"
#include "runtime/trainer.hpp"
#include "search/search.hpp"

namespace galvatron::app {

/// A profile, and whether the user asked to stop while it was measured: it is a fragment then.
struct ProfilePhase {
  cost::Profile profile;
  runtime::Request asked = runtime::Request::none;

  bool stopped() const { return asked == runtime::Request::stop_user; }
};

/// Collective: the profile of these ranks: profile.file, else the run folder's when it fits and profile.reuse
/// is on, else measured and written to the run folder; of an earlier one there is what still holds is not
/// measured again. Its report is printed when it was measured. `data` may be null: then the loader is not
/// measured. Throws core::AgreedError (requeue) when the batch system or the time limit stopped it; what was
/// measured lies in the run folder then.
ProfilePhase profile_phase(Job& job, const Data* data);

/// Collective: Job::renew_kernels(), and on devices products are then made by the algorithms that
/// profile.file, else the run folder's profile, keeps for them, where there is one.
void renew_kernels(Job& job);

/// What a search found; nothing when the user asked to stop it.
struct SearchPhase {
  std::optional<search::SearchResult> found;
};

/// Collective: the search over all ranks. What it knows is kept in the run folder until a plan is; an attempt
/// after one that was stopped goes on from there. Throws core::AgreedError: no plan (exit code 4) with the
/// nearest miss when nothing fits; requeue when the batch system or the time limit stopped it.
SearchPhase search_phase(Job& job, const cost::Profile& profile);

/// A candidate and what it took.
struct Trial {
  plan::Plan plan;
  double measured_seconds = 0;  ///< median step of the slowest rank; 0 = not tried
};

/// Collective: plays the best candidates for a few steps each on throw-away state; fastest first.
std::vector<Trial> trial_phase(Job& job, const Data& data, const search::SearchResult& found);

/// Collective: the plan that the deck names (plan.file, [plan] by hand), or the run folder's when its
/// fingerprint fits, or the one that search.rules finds without a profile; nothing when a search is needed.
/// Says which.
std::optional<plan::Plan> given_plan(Job& job);

/// Collective: the plan by the rules of Galvatron 3.0; its strategy file is written to the run folder. Throws
/// core::AgreedError (no plan) when nothing fits.
plan::Plan galvatron3_plan(Job& job);

/// Collective: the plan under which a trained model is only looked at: the given one, or where none fits
/// these ranks a plain division of samples over them.
plan::Plan plan_for_looking(Job& job);

/// Collective: a session under `plan` with the weights of a checkpoint, and the step they were saved at.
struct Trained {
  std::unique_ptr<runtime::Session> session;
  int64_t step = 0;
};
Trained load_trained(Job& job, const plan::Plan& plan, const std::filesystem::path& checkpoint);

/// The plan's predictions, from the run folder's profile or profile.file where there is one; unpriced
/// otherwise.
plan::Plan priced(Job& job, plan::Plan plan, const cost::Profile& profile);

/// Collective: writes plan.toml and prints the plan's table.
void keep_plan(Job& job, const plan::Plan& plan);

/// What earlier phases leave to the end table.
struct Before {
  runtime::SectionTimes sections;  ///< seconds of profile and search
  double peak_flops = 0;  ///< measured gemm peak per rank, the yardstick of utilisation; 0 = not measured
};

/// Collective: trains and prints the end table; sets the RESULT line's values.
core::ExitCode train_phase(Job& job, const Data& data, const plan::Plan& plan, const Before& before);

}  // namespace galvatron::app
