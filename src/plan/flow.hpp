#pragma once
// What activations pass through in one stage: its layers, and transitions where two neighbours have different
// layouts. Lowering plays this list, cost prices it.

#include <cstdint>
#include <vector>

#include "plan/plan.hpp"
#include "program/transition.hpp"

namespace galvatron::plan {

/// A layer, or the way between two layouts. `from` and `to`: the strategies that say how its input and its
/// output are split; a layer's are its own.
struct FlowItem {
  static constexpr int64_t transition = -1;

  int64_t layer = transition;  ///< index in the model
  spec::LayerStrategy from, to;

  bool is_transition() const { return layer == transition; }
};

/// A message between stages travels in the sender's layout, so a stage whose first layer has another one
/// begins with a transition.
std::vector<FlowItem> flow_of(const Plan& plan, int64_t stage);

/// The strategy that says how the activations that come into the stage, or leave it, are split.
const spec::LayerStrategy& input_strategy(const Plan& plan, int64_t stage);
const spec::LayerStrategy& output_strategy(const Plan& plan, int64_t stage);

/// What `program::transition` needs for a rank of the stage (counted from 0).
program::TransitionContext transition_context(const Plan& plan, const spec::ModelSpec& model,
                                              const FlowItem& item, int64_t rank_in_stage, core::DType dtype);

/// Rows of an activation that a rank of the stage (counted from 0) holds per micro-batch.
int64_t rows_of(const Plan& plan, const spec::ModelSpec& model, const spec::LayerStrategy& strategy,
                int64_t rank_in_stage);

}  // namespace galvatron::plan
