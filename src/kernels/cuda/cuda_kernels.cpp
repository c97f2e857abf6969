// The maker of CUDA kernels in a build with CUDA. Devices and communicators are there; nothing computes on
// them in this version, and whoever asks is told so before anything is allocated.

#include "core/errors.hpp"
#include "core/format.hpp"
#include "kernels/backends.hpp"

namespace galvatron::kernels {

std::unique_ptr<Kernels> make_cuda_kernels(device::Device& device) {
  throw core::UserError(
      core::ExitCode::environment,
      core::format("kernels for CUDA are not part of this version: {} cannot train; train on the CPU",
                   device.name()));
}

}  // namespace galvatron::kernels
