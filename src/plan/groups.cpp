// Axis sets become rank lists here. The tie axis joins the holders of the model's two ends, which are on the
// first and the last rank of the pipeline.
#include "plan/groups.hpp"

#include <algorithm>
#include <numeric>
#include <set>

#include "plan/flow.hpp"

namespace galvatron::plan {
namespace {

using core::TrafficClass;
using spec::Axis;
using spec::AxisSet;

constexpr AxisSet replicas = Axis::dp | Axis::cp | AxisSet(Axis::sp);
constexpr AxisSet whole_stage = replicas | AxisSet(Axis::tp);

/// What makes the ranks of a stage talk, once per way in which any of its layers is split.
struct Talkers {
  std::vector<spec::LayerStrategy> layers;   ///< distinct
  std::vector<spec::LayerStrategy> targets;  ///< of transitions, distinct
  std::vector<spec::LayerStrategy> tied;     ///< of the ends of a table that two stages share, distinct
};

void add_once(std::vector<spec::LayerStrategy>& list, const spec::LayerStrategy& strategy) {
  if (std::find(list.begin(), list.end(), strategy) == list.end()) list.push_back(strategy);
}

/// By pipeline rank.
std::vector<Talkers> talkers_of(const Plan& plan, const spec::ModelSpec& model) {
  std::vector<Talkers> talkers(static_cast<size_t>(plan.pipeline_ranks()));
  const bool tied = plan.pipeline_ranks() > 1 && model.tied();
  for (int64_t stage = 0; stage < static_cast<int64_t>(plan.stages.size()); ++stage) {
    auto& here = talkers[static_cast<size_t>(stage % plan.pipeline_ranks())];
    for (const auto& item : flow_of(plan, stage)) {
      add_once(item.is_transition() ? here.targets : here.layers, item.to);
      if (tied && (item.layer == 0 || item.layer == model.size() - 1)) add_once(here.tied, item.to);
    }
  }
  return talkers;
}

}  // namespace

std::vector<int> group_of(const Plan& plan, const spec::LayerStrategy& strategy, int64_t rank, AxisSet axes) {
  const auto stages = plan.ranks();
  auto members = spec::MeshShape(strategy, 0).group_of(stages.member_of(rank), axes);
  const auto on = [&](int64_t pipeline_rank) {
    std::vector<int> ranks;
    ranks.reserve(members.size());
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

std::vector<int> pipeline_group_of(const Plan& plan, int64_t rank) {
  const auto stages = plan.ranks();
  std::vector<int> ranks;
  for (int64_t stage = 0; stage < stages.stages; ++stage)
    ranks.push_back(static_cast<int>(stages.rank_at(stage, stages.member_of(rank))));
  return ranks;
}

std::vector<spec::RankGroup> groups_of(const Plan& plan, const spec::ModelSpec& model,
                                       std::span<const int64_t> ranks) {
  std::set<spec::RankGroup> groups;
  const auto add = [&](TrafficClass traffic, std::vector<int> members) {
    if (members.size() > 1) groups.insert({traffic, std::move(members)});
  };
  const auto talkers = talkers_of(plan, model);
  for (const auto rank : ranks) {
    const auto& here = talkers[static_cast<size_t>(plan.pipeline_rank_of(rank))];
    for (const auto& strategy : here.layers) {
      for (const auto axis : {Axis::tp, Axis::sp, Axis::cp})
        add(TrafficClass::layer, group_of(plan, strategy, rank, axis));
      add(TrafficClass::gradient, group_of(plan, strategy, rank, replicas));
      add(TrafficClass::gradient, group_of(plan, strategy, rank, whole_stage));
    }
    for (const auto& strategy : here.tied)
      add(TrafficClass::gradient, group_of(plan, strategy, rank, replicas | AxisSet(Axis::tie)));
    // Activations change their layout among all ranks of a stage.
    for (const auto& strategy : here.targets)
      add(TrafficClass::layer, group_of(plan, strategy, rank, whole_stage));
    add(TrafficClass::pipeline, pipeline_group_of(plan, rank));
  }
  return {groups.begin(), groups.end()};
}

std::vector<spec::RankGroup> groups_of(const Plan& plan, const spec::ModelSpec& model) {
  std::vector<int64_t> all(static_cast<size_t>(plan.world));
  std::iota(all.begin(), all.end(), 0);
  return groups_of(plan, model, all);
}

}  // namespace galvatron::plan
