// A CPU job has one way: MPI between host memories. Devices have a second one: theirs, as training uses it.
#include "measure/link_paths.hpp"

#include <numeric>

namespace galvatron::measure {
namespace {

std::string name_of_path(device::DeviceKind kind) {
  switch (kind) {
    case device::DeviceKind::cpu:
      return "host MPI";
    case device::DeviceKind::cuda:
      return "device memory";  // by whatever way the world moves it
    case device::DeviceKind::dry:
      break;
  }
  return "pretended";
}

}  // namespace

LinkPaths::LinkPaths(comm::World& world, device::Device& device) {
  std::vector<int> everyone(static_cast<size_t>(world.size()));
  std::iota(everyone.begin(), everyone.end(), 0);
  owned_.push_back(world.make_communicator(everyone, comm::TrafficClass::pipeline));
  list_.push_back({name_of_path(device.kind()), owned_.back().get(), &device});
  if (device.kind() == device::DeviceKind::cpu) return;
  host_ = device::make_device(device::DeviceKind::cpu);
  host_world_ = comm::make_mpi_world(*host_);
  owned_.push_back(host_world_->make_communicator(everyone, comm::TrafficClass::pipeline));
  list_.push_back({name_of_path(host_->kind()), owned_.back().get(), host_.get()});
}

}  // namespace galvatron::measure
