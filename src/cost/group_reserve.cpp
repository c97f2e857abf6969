// Groups are those that a session will make, from plan data alone, so every rank predicts the same. Members
// of a stage are in groups alike; only where windows are in use may some of them share a node with more
// members.
#include "cost/group_reserve.hpp"

#include <algorithm>
#include <set>

#include "core/form.hpp"
#include "cost/hardware_price.hpp"
#include "plan/groups.hpp"

namespace galvatron::cost {
namespace {

/// Ranks that stand for all: those of the first member of every stage, or all where members may differ.
std::vector<int64_t> typical_ranks(const plan::Plan& plan, bool alike) {
  const auto stages = plan.ranks();
  std::vector<int64_t> ranks;
  for (int64_t stage = 0; stage < stages.stages; ++stage)
    for (int64_t member = 0; member < (alike ? 1 : stages.members); ++member)
      ranks.push_back(stages.rank_at(stage, member));
  return ranks;
}

struct Held {
  int64_t bytes = 0;
  bool gradients = false;
};

/// What a communicator holds is nearly all what direct reductions gather the others' parts in; one that
/// reduces through windows has those instead.
int64_t bytes_of(const core::FormTable& table, const GroupShape& shape, const ReserveUnits& units) {
  if (!table.uses(core::Form::shared) && !table.uses(core::Form::hierarchical)) return units.communicator;
  constexpr int64_t long_message = 512 << 10;  // as long as those that units were measured with
  const auto direct = [&](core::CollectiveKind kind) {
    return table.of(kind, long_message) == core::Form::direct;
  };
  const bool gathers =
      direct(core::CollectiveKind::all_reduce) || direct(core::CollectiveKind::reduce_scatter);
  return shape.per_node * units.window_member + (gathers ? units.communicator : 0);
}

/// What each rank holds; only those of `ranks` are complete.
std::vector<Held> held_by(const plan::Plan& plan, const spec::ModelSpec& model, const ReserveUnits& units,
                          const spec::ClusterSpec& cluster, const std::vector<int64_t>& ranks) {
  std::vector<Held> held(static_cast<size_t>(plan.world));
  for (const auto& group : plan::groups_of(plan, model, ranks)) {
    if (group.traffic == core::TrafficClass::pipeline) continue;  // messages alone keep next to nothing
    int64_t bytes = units.communicator;
    if (!plan.forms.empty()) {
      const auto shape = shape_of(group.ranks, cluster.ranks_per_node);
      bytes = bytes_of(core::table_of(plan.forms, shape.ranks, shape.nodes, shape.per_node), shape, units);
    }
    for (const int rank : group.ranks) {
      auto& mine = held[static_cast<size_t>(rank)];
      mine.bytes += bytes;
      mine.gradients |= group.traffic == core::TrafficClass::gradient;
    }
  }
  return held;
}

}  // namespace

std::vector<core::FormChoice> forms_of(const plan::Plan& plan, const spec::ModelSpec& model,
                                       const std::vector<core::FormChoice>& forms,
                                       const spec::ClusterSpec& cluster) {
  std::vector<core::FormChoice> chosen;
  if (forms.empty()) return chosen;
  std::set<GroupShape> shapes;
  for (const auto& group : plan::groups_of(plan, model))
    if (group.traffic != core::TrafficClass::pipeline)
      shapes.insert(shape_of(group.ranks, cluster.ranks_per_node));
  for (const auto& choice : forms)
    if (shapes.contains({choice.ranks, choice.nodes, choice.per_node})) chosen.push_back(choice);
  return chosen;
}

std::vector<int64_t> group_reserve(const plan::Plan& plan, const spec::ModelSpec& model,
                                   const ReserveUnits& units, const spec::ClusterSpec& cluster) {
  std::vector<int64_t> most(static_cast<size_t>(plan.pipeline_ranks()), 0);
  if (units == ReserveUnits{}) return most;
  const auto ranks = typical_ranks(plan, plan.forms.empty());
  const auto held = held_by(plan, model, units, cluster, ranks);
  const bool ring =
      std::any_of(plan.layers.begin(), plan.layers.end(), [](const auto& layer) { return layer.cp > 1; });
  for (const auto rank : ranks) {
    const auto& mine = held[static_cast<size_t>(rank)];
    const int64_t threads = (mine.gradients ? 1 : 0) + (ring ? 1 : 0);
    auto& bytes = most[static_cast<size_t>(plan.pipeline_rank_of(rank))];
    bytes = std::max(bytes, mine.bytes + threads * units.thread);
  }
  return most;
}

int64_t least_group_reserve(const ReserveUnits& units, int64_t ranks_per_stage) {
  if (ranks_per_stage <= 1) return 0;
  const auto window = units.window_member > 0 ? units.window_member : units.communicator;
  return std::min(units.communicator, window) + units.thread;
}

}  // namespace galvatron::cost
