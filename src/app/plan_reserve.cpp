// Groups are those that a session will make, from plan data alone, so every rank predicts the same.
#include "app/plan_reserve.hpp"

#include <algorithm>
#include <vector>

#include "core/form.hpp"
#include "measure/group_sets.hpp"
#include "runtime/groups.hpp"

namespace galvatron::app {
namespace {

struct Held {
  int64_t groups = 0, window_members = 0;
  bool gradients = false;
};

/// What each rank of the world holds.
std::vector<Held> held_by_ranks(const plan::Plan& plan, Job& job) {
  std::vector<Held> held(static_cast<size_t>(plan.world));
  const auto nodes = job.nodes_of_ranks();
  for (const auto& group : runtime::groups_of(plan, job.model())) {
    const auto shape = measure::shape_of(group.ranks, nodes);
    const auto table = core::table_of(plan.forms, shape.ranks, shape.nodes, shape.per_node);
    const bool formed = group.traffic != comm::TrafficClass::pipeline;
    const bool windows = formed && (table.uses(core::Form::shared) || table.uses(core::Form::hierarchical));
    if (!formed) continue;  // messages alone keep next to nothing
    for (const int rank : group.ranks) {
      auto& mine = held[static_cast<size_t>(rank)];
      ++mine.groups;
      mine.window_members += windows ? shape.per_node : 0;
      mine.gradients = mine.gradients || group.traffic == comm::TrafficClass::gradient;
    }
  }
  return held;
}

}  // namespace

void add_plan_reserve(plan::Plan& plan, Job& job, const cost::ReserveUnits& units) {
  if (plan.predictions.empty() || units == cost::ReserveUnits{}) return;
  const bool ring =
      std::any_of(plan.layers.begin(), plan.layers.end(), [](const auto& layer) { return layer.cp > 1; });
  std::vector<int64_t> extra(plan.predictions.size(), 0);
  const auto held = held_by_ranks(plan, job);
  for (int64_t rank = 0; rank < plan.world; ++rank) {
    const auto& mine = held[static_cast<size_t>(rank)];
    const int64_t threads = (mine.gradients ? 1 : 0) + (ring ? 1 : 0);
    auto& most = extra[static_cast<size_t>(plan.pipeline_rank_of(rank))];
    most = std::max(most, mine.groups * units.communicator + mine.window_members * units.window_member +
                              threads * units.thread);
  }
  for (size_t p = 0; p < extra.size(); ++p) {
    plan.predictions[p].memory_bytes += extra[p];
    plan.predictions[p].memory_terms.push_back({"groups", static_cast<double>(extra[p])});
  }
}

}  // namespace galvatron::app
