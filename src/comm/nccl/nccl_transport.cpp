// Making NCCL communicators: the first over a set of ranks from an id that its first member draws, further
// ones over the same ranks (another class of traffic) by splitting, which is cheaper and shares buffers.
#include <map>
#include <utility>

#include "comm/device_world.hpp"
#include "comm/nccl/check.hpp"
#include "comm/nccl/nccl_communicator.hpp"
#include "device/cuda/cuda_device.hpp"

namespace galvatron::comm {
namespace nccl {
namespace {

class NcclTransport final : public DirectTransport {
 public:
  explicit NcclTransport(device::cuda::CudaDevice& device) : resources_(device) {
    device.set_poll([this] { resources_.live.poll(); });
  }
  ~NcclTransport() override { resources_.device.set_poll({}); }

  std::unique_ptr<Communicator> make(Group group, std::unique_ptr<Communicator> host) override;
  void abort() noexcept override { resources_.live.abort(); }

 private:
  Resources resources_;
  /// One per set of ranks, kept for splitting; never talked on.
  std::map<std::vector<int>, CommHandle> parents_;
};

std::unique_ptr<Communicator> NcclTransport::make(Group group, std::unique_ptr<Communicator> host) {
  resources_.device.activate();
  auto& parent = parents_[group.members];
  if (!parent) {
    ncclUniqueId id{};
    if (group.index == 0) GALV_NCCL(ncclGetUniqueId(&id));
    host->broadcast(device::vector(&id, core::DType::u8, sizeof id), 0);
    parent = CommHandle(resources_.live, id, group.index, group.size(), group.name);
  }
  // Collectives of all communicators take turns on one stream, so their buffers can be the same.
  CommHandle comm(resources_.live, parent, group.index, Share::yes, group.name);
  return std::make_unique<NcclCommunicator>(std::move(group), std::move(host), std::move(comm), resources_);
}

}  // namespace
}  // namespace nccl

std::unique_ptr<DirectTransport> make_direct_transport(device::Device& device) {
  if (device.kind() != device::DeviceKind::cuda) return nullptr;
  return std::make_unique<nccl::NcclTransport>(static_cast<device::cuda::CudaDevice&>(device));
}

}  // namespace galvatron::comm
