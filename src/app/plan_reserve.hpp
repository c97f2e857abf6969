#pragma once
// Memory that a plan takes besides its arena and what every plan takes: groups of ranks, the shared memory
// they talk through, threads that talk.

#include "app/job.hpp"
#include "cost/profile.hpp"
#include "plan/plan.hpp"

namespace galvatron::app {

/// Adds it to the plan's predictions, as a term of its own; for each pipeline rank that of its fullest rank.
/// Windows count whole, though short messages leave some of their pages untouched. Does nothing to a plan
/// without predictions.
void add_plan_reserve(plan::Plan& plan, Job& job, const cost::ReserveUnits& units);

}  // namespace galvatron::app
