#pragma once
// The live form of a mesh: one communicator for each group of ranks that the programs of this rank name, and
// no second one when two axes of two layers happen to mean the same ranks.

#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "comm/communicator.hpp"
#include "comm/world.hpp"
#include "spec/mesh.hpp"

namespace galvatron::comm {

using MeshGroup = spec::RankGroup;

/// Owns this rank's communicators, one per distinct group. The world outlives it.
class DeviceMesh {
 public:
  /// Collective over the world. `groups` lists all groups of all ranks, the same list on every rank; groups
  /// may overlap and repeat. They are made in list order by their members only. Throws core::InternalError
  /// when the lists differ between ranks (named) or a group is malformed.
  /// Every communicator is attached to `compute`, where that is given; the stream outlives the mesh.
  /// Collectives have the form that `forms`, the same on every rank, names for the group's place on the
  /// nodes; pipeline traffic is direct.
  DeviceMesh(World& world, const std::vector<MeshGroup>& groups, device::Stream* compute = nullptr,
             std::vector<core::FormChoice> forms = {});

  /// The communicator of exactly these ranks in this order. Groups of this rank alone need not have been
  /// listed. Throws core::InternalError for a group that was not.
  Communicator& get(const std::vector<int>& ranks, TrafficClass traffic);

  /// Distinct groups that this rank talks in, those of one rank included.
  int64_t communicators() const { return static_cast<int64_t>(communicators_.size()); }

 private:
  std::unique_ptr<Communicator> make(const MeshGroup& group);

  World& world_;
  device::Stream* compute_;
  std::vector<core::FormChoice> forms_;
  std::map<MeshGroup, std::unique_ptr<Communicator>>
      communicators_;  // ordered: they end in the same order everywhere
};

}  // namespace galvatron::comm
