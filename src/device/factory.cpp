// The one place that turns a kind into a device.

#include "core/errors.hpp"
#include "device/backends.hpp"

namespace galvatron::device {

std::unique_ptr<Device> make_device(DeviceKind kind, int local_rank) {
  switch (kind) {
    case DeviceKind::cpu:
      return make_cpu_device();
    case DeviceKind::dry:
      return make_dry_device();
    case DeviceKind::cuda:
      return make_cuda_device(local_rank);
  }
  throw core::InternalError("make_device: unknown kind");
}

}  // namespace galvatron::device
