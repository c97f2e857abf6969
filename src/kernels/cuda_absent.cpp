// Stands in for the CUDA kernels in a build without them, so that asking for them is an error with a remedy.

#include "core/errors.hpp"
#include "kernels/backends.hpp"

namespace galvatron::kernels {

std::unique_ptr<Kernels> make_cuda_kernels(device::Device&) {
  throw core::UserError(core::ExitCode::environment,
                        "built without CUDA (configure with GALVATRON_WITH_CUDA=ON)");
}

}  // namespace galvatron::kernels
