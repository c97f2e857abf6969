// CUDA's error codes as the errors of this program.
#include "device/cuda/check.hpp"

#include <string>

#include "core/errors.hpp"
#include "core/format.hpp"

namespace galvatron::device::cuda {

void check(cudaError_t code, std::string_view call, const std::source_location& where) {
  if (code == cudaSuccess) return;
  cudaGetLastError();  // else the next call reports this one's error
  const auto text = core::format("{} failed: {} ({})", call.substr(0, call.find('(')),
                                 cudaGetErrorString(code), cudaGetErrorName(code));
  switch (code) {
    case cudaErrorMemoryAllocation:
      throw core::ResourceError(text);
    case cudaErrorNoDevice:
    case cudaErrorInsufficientDriver:
    case cudaErrorSystemDriverMismatch:
    case cudaErrorCompatNotSupportedOnDevice:
    case cudaErrorSystemNotReady:
    case cudaErrorDevicesUnavailable:
    case cudaErrorNoKernelImageForDevice:
    case cudaErrorUnsupportedPtxVersion:
      throw core::UserError(core::ExitCode::environment, text);
    default:
      throw core::InternalError(text, where);
  }
}

}  // namespace galvatron::device::cuda
