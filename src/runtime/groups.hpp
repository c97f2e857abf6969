#pragma once
// The live communicators behind the names that programs use for the groups of a plan.

#include <map>
#include <mutex>
#include <tuple>
#include <vector>

#include "comm/mesh.hpp"
#include "plan/plan.hpp"
#include "program/step.hpp"
#include "spec/mesh.hpp"

namespace galvatron::runtime {

class LiveGroups {
 public:
  /// Collective over the world. `compute`, where given, is the stream that the groups' calls are ordered
  /// with.
  LiveGroups(comm::World& world, const plan::Plan& plan, const spec::ModelSpec& model,
             device::Stream* compute = nullptr);

  /// The group of this rank under a layer's strategy. Any thread may ask.
  comm::Communicator& find(const spec::LayerStrategy& strategy,
                           const program::CollectiveAttributes& collective);
  /// The ranks at this rank's place in every stage, first stage first.
  comm::Communicator& pipeline();

 private:
  using Key = std::tuple<spec::LayerStrategy, spec::AxisSet, bool>;

  plan::Plan plan_;
  int64_t rank_;
  comm::DeviceMesh mesh_;
  std::mutex mutex_;
  std::map<Key, comm::Communicator*> found_;
};

}  // namespace galvatron::runtime
