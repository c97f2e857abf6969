#pragma once
// A uniform plan from a handful of numbers: what somebody types who knows what they want, and what the search
// compares itself with.

#include <cstdint>
#include <vector>

#include "plan/plan.hpp"

namespace galvatron::deck {
struct PlanSection;
}

namespace galvatron::plan {

/// Degrees and counts of 0 are 1; dp = 0 is what remains of the world.
struct UniformPlan {
  int64_t world = 1;
  int64_t batch = 1;
  int64_t pp = 0, tp = 0, sp = 0, cp = 0, dp = 0;
  int32_t zero = 0;
  spec::Recompute recompute = spec::Recompute::none;
  int64_t microbatches =
      0;  ///< 0 = the largest count ≤ 4 · pp that divides the batch and leaves dp samples each
  ScheduleKind schedule = ScheduleKind::one_f_one_b;
  Placement placement = Placement::stage_major;
  int64_t virtual_stages = 0;         ///< stages on each of the pp ranks of the pipeline
  std::vector<int64_t> stage_layers;  ///< entries of the model's layer list per stage; empty = even
};

/// Blocks (attention, mlp) spread evenly, earlier stages taking one more; the embedding joins the first
/// stage, the head the last. With more stages than blocks the list of layers is spread evenly instead.
std::vector<StageLayers> even_stages(const spec::ModelSpec& model, int64_t stages);

/// Throws core::UserError with every fault at once. The embedding and the head of a tied model stay at ZeRO 1
/// when they are on different stages.
Plan plan_by_hand(const UniformPlan& wish, const spec::ModelSpec& model);
/// Likewise, where the model's fingerprint is known: for many plans of one model.
Plan plan_by_hand(const UniformPlan& wish, const spec::ModelSpec& model, std::string fingerprint);

/// What the [plan] section of a deck asks for.
UniformPlan uniform_from_deck(const deck::PlanSection& section, int64_t world, int64_t batch);

}  // namespace galvatron::plan
