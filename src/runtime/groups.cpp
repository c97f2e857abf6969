// Axis sets become rank lists here. The tie axis joins the holders of the model's two ends, which are on the
// first and the last rank of the pipeline.

#include "runtime/groups.hpp"

#include <algorithm>
#include <set>

#include "plan/flow.hpp"

namespace galvatron::runtime {
namespace {

using comm::TrafficClass;
using spec::Axis;
using spec::AxisSet;

std::vector<int> ranks_of(const plan::Plan& plan, const spec::LayerStrategy& strategy, int64_t rank,
                          AxisSet axes) {
  const auto stages = plan.ranks();
  const auto members = spec::MeshShape(strategy, 0).group_of(stages.member_of(rank), axes);
  auto on = [&](int64_t pipeline_rank) {
    std::vector<int> ranks;
    for (const auto member : members)
      ranks.push_back(static_cast<int>(stages.rank_at(pipeline_rank, member)));
    return ranks;
  };
  if (!axes.contains(Axis::tie)) return on(plan.pipeline_rank_of(rank));
  auto ranks = on(0);
  const auto last = on(plan.pipeline_ranks() - 1);
  ranks.insert(ranks.end(), last.begin(), last.end());
  return ranks;
}

std::vector<int> pipeline_of(const plan::Plan& plan, int64_t rank) {
  const auto stages = plan.ranks();
  std::vector<int> ranks;
  for (int64_t stage = 0; stage < stages.stages; ++stage)
    ranks.push_back(static_cast<int>(stages.rank_at(stage, stages.member_of(rank))));
  return ranks;
}

}  // namespace

std::vector<comm::MeshGroup> groups_of(const plan::Plan& plan, const spec::ModelSpec& model) {
  std::set<comm::MeshGroup> groups;
  auto add = [&](TrafficClass traffic, std::vector<int> ranks) {
    if (ranks.size() > 1) groups.insert({traffic, std::move(ranks)});
  };
  const auto replicas = Axis::dp | Axis::cp | AxisSet(Axis::sp);
  const auto whole_stage = replicas | AxisSet(Axis::tp);
  for (int64_t layer = 0; layer < model.size(); ++layer) {
    const auto& strategy = plan.layers[static_cast<size_t>(layer)];
    const auto pipeline_rank = plan.stage_of_layer(layer) % plan.pipeline_ranks();
    for (int64_t member = 0; member < plan.ranks_per_stage(); ++member) {
      const auto rank = plan.ranks().rank_at(pipeline_rank, member);
      for (const auto axis : {Axis::tp, Axis::sp, Axis::cp})
        add(TrafficClass::layer, ranks_of(plan, strategy, rank, axis));
      add(TrafficClass::gradient, ranks_of(plan, strategy, rank, replicas));
      add(TrafficClass::gradient, ranks_of(plan, strategy, rank, whole_stage));
      if (plan.pipeline_ranks() > 1 && model.tied() && (layer == 0 || layer == model.size() - 1))
        add(TrafficClass::gradient, ranks_of(plan, strategy, rank, replicas | AxisSet(Axis::tie)));
    }
  }
  // Activations change their layout among all ranks of a stage.
  for (size_t stage = 0; stage < plan.stages.size(); ++stage)
    for (const auto& item : plan::flow_of(plan, static_cast<int64_t>(stage)))
      if (item.is_transition())
        add(TrafficClass::layer,
            ranks_of(plan, item.to, plan.first_rank_of_stage(static_cast<int64_t>(stage)), whole_stage));
  for (int64_t rank = 0; rank < plan.world; ++rank) add(TrafficClass::pipeline, pipeline_of(plan, rank));
  return {groups.begin(), groups.end()};
}

LiveGroups::LiveGroups(comm::World& world, const plan::Plan& plan, const spec::ModelSpec& model,
                       device::Stream* compute)
    : plan_(plan), rank_(world.rank()), mesh_(world, groups_of(plan, model), compute, plan.forms) {}

comm::Communicator& LiveGroups::find(const spec::LayerStrategy& strategy,
                                     const program::CollectiveAttributes& collective) {
  const std::scoped_lock lock(mutex_);
  auto& found = found_[{strategy, collective.axes, collective.gradient}];
  if (found == nullptr)
    found = &mesh_.get(ranks_of(plan_, strategy, rank_, collective.axes),
                       collective.gradient ? TrafficClass::gradient : TrafficClass::layer);
  return *found;
}

comm::Communicator& LiveGroups::pipeline() {
  return mesh_.get(pipeline_of(plan_, rank_), TrafficClass::pipeline);
}

}  // namespace galvatron::runtime
