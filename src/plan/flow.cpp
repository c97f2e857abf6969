// Neighbours are compared once, here; everybody else reads the list.

#include "plan/flow.hpp"

#include "core/errors.hpp"
#include "spec/reshard.hpp"

namespace galvatron::plan {
namespace {

spec::TokenLayout layout_of(const Plan& plan, const spec::ModelSpec& model,
                            const spec::LayerStrategy& strategy) {
  return {plan.samples_per_micro(), model.seq, strategy};
}

}  // namespace

const spec::LayerStrategy& output_strategy(const Plan& plan, int64_t stage) {
  return plan.layers[static_cast<size_t>(plan.stages[static_cast<size_t>(stage)].last)];
}

const spec::LayerStrategy& input_strategy(const Plan& plan, int64_t stage) {
  return stage == 0 ? plan.layers.front() : output_strategy(plan, stage - 1);
}

std::vector<FlowItem> flow_of(const Plan& plan, int64_t stage) {
  std::vector<FlowItem> flow;
  auto before = input_strategy(plan, stage);
  const auto range = plan.stages[static_cast<size_t>(stage)];
  for (auto layer = range.first; layer <= range.last; ++layer) {
    const auto& strategy = plan.layers[static_cast<size_t>(layer)];
    if (!spec::same_layout(before, strategy)) flow.push_back({FlowItem::transition, before, strategy});
    flow.push_back({layer, strategy, strategy});
    before = strategy;
  }
  return flow;
}

program::TransitionContext transition_context(const Plan& plan, const spec::ModelSpec& model,
                                              const FlowItem& item, int64_t rank_in_stage,
                                              core::DType dtype) {
  GALV_ASSERT(item.is_transition(), item.layer);
  return {layout_of(plan, model, item.from), layout_of(plan, model, item.to), rank_in_stage,
          model.layers.front().dims.hidden, dtype};
}

int64_t rows_of(const Plan& plan, const spec::ModelSpec& model, const spec::LayerStrategy& strategy,
                int64_t rank_in_stage) {
  return layout_of(plan, model, strategy).rows_of(spec::MeshShape(strategy, 0).coordinate_of(rank_in_stage));
}

}  // namespace galvatron::plan
