// Names that programs use for groups become communicators of exactly those ranks.

#include "runtime/groups.hpp"

#include "plan/groups.hpp"

namespace galvatron::runtime {

using comm::TrafficClass;

LiveGroups::LiveGroups(comm::World& world, const plan::Plan& plan, const spec::ModelSpec& model,
                       device::Stream* compute)
    : plan_(plan), rank_(world.rank()), mesh_(world, plan::groups_of(plan, model), compute, plan.forms) {}

comm::Communicator& LiveGroups::find(const spec::LayerStrategy& strategy,
                                     const program::CollectiveAttributes& collective) {
  const std::scoped_lock lock(mutex_);
  auto& found = found_[{strategy, collective.axes, collective.gradient}];
  if (found == nullptr)
    found = &mesh_.get(plan::group_of(plan_, strategy, rank_, collective.axes),
                       collective.gradient ? TrafficClass::gradient : TrafficClass::layer);
  return *found;
}

comm::Communicator& LiveGroups::pipeline() {
  return mesh_.get(plan::pipeline_group_of(plan_, rank_), TrafficClass::pipeline);
}

}  // namespace galvatron::runtime
