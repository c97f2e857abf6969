#pragma once
// The one way to call the CUDA runtime: every return code becomes an exception with the call and CUDA's
// words.

#include <cuda_runtime_api.h>

#include <source_location>
#include <string_view>

namespace galvatron::device::cuda {

/// Returns for cudaSuccess. Else throws core::ResourceError (out of memory), core::UserError (environment)
/// where there is no device or the driver does not fit, and core::InternalError for the rest.
void check(cudaError_t code, std::string_view call, const std::source_location& where);

}  // namespace galvatron::device::cuda

/// GALV_CUDA(cudaSetDevice(0)).
#define GALV_CUDA(call) ::galvatron::device::cuda::check((call), #call, std::source_location::current())
