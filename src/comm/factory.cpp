// The one place where the kind of device decides how ranks talk.
#include "comm/device_world.hpp"
#include "comm/mpi/mpi_world.hpp"
#include "comm/mpi/reach.hpp"
#include "comm/world.hpp"
#include "core/errors.hpp"

namespace galvatron::comm {

std::unique_ptr<World> make_mpi_world(device::Device& device) {
  return make_mpi_world(device, SharedDevices::refused);
}

std::unique_ptr<World> make_mpi_world(device::Device& device, SharedDevices shared) {
  switch (device.kind()) {
    case device::DeviceKind::cpu:
      return mpi::make_world();
    case device::DeviceKind::cuda:
      return make_device_world(mpi::make_world(), device, make_direct_transport(device), shared,
                               mpi::reach());
    case device::DeviceKind::dry:
      break;
  }
  throw core::InternalError("a dry device has no live world; use make_dry_world");
}

}  // namespace galvatron::comm
