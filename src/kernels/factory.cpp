// The one place that turns a device into what it can compute.

#include "core/errors.hpp"
#include "kernels/backends.hpp"
#include "kernels/cpu/simd/simd.hpp"

namespace galvatron::kernels {

std::unique_ptr<Kernels> make_kernels(device::Device& device, int threads) {
  GALV_ASSERT(threads >= 1, threads);
  switch (device.kind()) {
    case device::DeviceKind::cpu:
      return make_cpu_kernels(threads, *available_simd().table[0]);
    case device::DeviceKind::dry:
      return make_dry_kernels(threads);
    case device::DeviceKind::cuda:
      return make_cuda_kernels(device);
  }
  throw core::InternalError("make_kernels: unknown kind of device");
}

}  // namespace galvatron::kernels
