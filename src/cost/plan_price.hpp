#pragma once
// Plan → predicted step time and memory, stage by stage and term by term.

#include <limits>
#include <vector>

#include "cost/layer_price.hpp"
#include "cost/simulator.hpp"
#include "plan/plan.hpp"

namespace galvatron::cost {

struct PlanPrice {
  double step_seconds = 0;
  double modelled_share = 0;  ///< part of all stages' busy time that was not measured, 0 … 1
  std::vector<plan::StagePrediction> stages;  ///< per pipeline rank
  std::vector<StageMemory> memory;            ///< per pipeline rank, of its fullest member
  std::vector<StageTimes> times;              ///< per stage
  Simulation simulation;

  int64_t memory_bytes() const;  ///< of the fullest rank
};

/// Where a stage of the plan lies.
StagePlace place_of(const plan::Plan& plan, int64_t stage);

/// What a plan has to keep to be wanted.
struct PriceLimits {
  int64_t memory_bytes = std::numeric_limits<int64_t>::max();     ///< of the fullest rank, at most
  double step_seconds = std::numeric_limits<double>::infinity();  ///< less than this
};

/// The plan must be free of faults. Memory counts the pricer's reserve. A plan that cannot keep the limits is
/// not simulated: its step time is then a lower bound.
PlanPrice price_plan(const plan::Plan& plan, const spec::ModelSpec& model, core::DType dtype,
                     LayerPricer& pricer, const PriceLimits& limits = {});

/// As the runtime will play it on this cluster: where copies to write checkpoints from do not fit beside the
/// plan, checkpoints are written between steps, and the price is without them.
PlanPrice price_plan(const plan::Plan& plan, const spec::ModelSpec& model, core::DType dtype,
                     const Profile& profile, const spec::ClusterSpec& cluster,
                     const program::WorkspaceRule& workspace, Overlap overlap);

/// What of a stage's predicted bytes is for copies to write checkpoints from.
int64_t copy_bytes(const plan::StagePrediction& stage);

/// The plan with the prices written into it, in whole nanoseconds.
plan::Plan with_predictions(plan::Plan plan, const PlanPrice& price, const Profile& profile);

/// Seconds for a message between two ranks of the pipeline: all their members send at once, the slowest pair
/// counts.
double boundary_seconds(const LayerPricer& pricer, int64_t from, int64_t to, const plan::StageRanks& ranks,
                        int64_t bytes);

/// Bytes of one rank's activation between layers, on the stage's fullest rank.
int64_t activation_bytes(const spec::ModelSpec& model, const spec::LayerStrategy& strategy,
                         int64_t samples_per_micro, core::DType dtype);

}  // namespace galvatron::cost
