#pragma once
// All ranks when their data is on devices: the control plane stays the host's, and each group gets the
// fastest communicator that its members can use. Inside a node that is a direct transport (nccl) where the
// build has one, and across nodes one of two levels; ranks that share a device, and messages, go through host
// memory.

#include <memory>

#include "comm/group.hpp"
#include "comm/world.hpp"
#include "device/device.hpp"

namespace galvatron::comm {

/// Ranks of one node that have the same device: an error, or all data through host memory.
enum class SharedDevices { refused, staged };

/// Which memory the host's communicators may be given for messages: theirs, or a device's as well
/// (CUDA-aware MPI).
enum class Reach { host, device };

/// Moves device memory between ranks of one node without the host's help.
class DirectTransport {
 public:
  virtual ~DirectTransport() = default;
  /// Collective over the group. `host` talks between the same ranks in host memory and is kept by what is
  /// made.
  virtual std::unique_ptr<Communicator> make(Group group, std::unique_ptr<Communicator> host) = 0;
  /// Stops what is under way, from any thread, without waiting for peers; for the end of a failed job.
  virtual void abort() noexcept = 0;
};

/// The one of this build; null where there is none, and for devices that are not CUDA's.
std::unique_ptr<DirectTransport> make_direct_transport(device::Device& device);

/// Collective. `host` is the world of the same ranks in host memory. `direct` null: everything is staged.
/// With a direct transport, two ranks that use the same device are an error, core::UserError (environment) on
/// every rank alike, or make everything staged. The device outlives it.
std::unique_ptr<World> make_device_world(std::unique_ptr<World> host, device::Device& device,
                                         std::unique_ptr<DirectTransport> direct,
                                         SharedDevices shared = SharedDevices::refused,
                                         Reach reach = Reach::host);

/// make_mpi_world() of world.hpp for a device that ranks may share.
std::unique_ptr<World> make_mpi_world(device::Device& device, SharedDevices shared);

/// The first two ranks of one node with the same non-empty identity, as text for people; empty when all
/// differ. Collective.
std::string shared_device(World& world, const std::string& identity);

}  // namespace galvatron::comm
