#pragma once
// The ways by which bytes travel between ranks, each with a name of its own in the link map. This is the one
// place to add a way: a communicator over all ranks, the memory that its operands lie in, and a name.

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "comm/communicator.hpp"
#include "comm/world.hpp"
#include "device/device.hpp"

namespace galvatron::measure {

struct LinkPath {
  std::string name;          ///< e.g. "host MPI"
  comm::Communicator* talk;  ///< over all ranks of the world, in their order; never null
  device::Device* memory;    ///< of its operands; never null
};

/// The paths of this job, the same list on every rank. The first one is that of training: prices come from
/// it. Owns the communicators; world and device outlive it.
class LinkPaths {
 public:
  /// Collective.
  LinkPaths(comm::World& world, device::Device& device);

  std::span<const LinkPath> list() const { return list_; }

 private:
  std::unique_ptr<device::Device> host_;  ///< of the host's own path beside that of a device
  std::unique_ptr<comm::World> host_world_;
  std::vector<std::unique_ptr<comm::Communicator>> owned_;
  std::vector<LinkPath> list_;
};

}  // namespace galvatron::measure
