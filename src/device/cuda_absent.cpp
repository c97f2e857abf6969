// Stands in for the CUDA device in a build without it, so that asking for one is an error with a remedy.

#include "core/errors.hpp"
#include "device/backends.hpp"

namespace galvatron::device {

std::unique_ptr<Device> make_cuda_device(int) {
  throw core::UserError(core::ExitCode::environment,
                        "built without CUDA (configure with GALVATRON_WITH_CUDA=ON)");
}

}  // namespace galvatron::device
