#pragma once
// The one way to call NCCL: every return code becomes an exception with the call and NCCL's own words.

#include <nccl.h>

#include <source_location>
#include <string_view>

namespace galvatron::comm::nccl {

/// Returns for ncclSuccess and ncclInProgress (the communicator then has to settle, see comm_handle.hpp).
/// Else throws core::ResourceError (environment) for a failing system, network or peer, and
/// core::InternalError for the rest.
void check(ncclResult_t code, std::string_view call, const std::source_location& where);

}  // namespace galvatron::comm::nccl

/// GALV_NCCL(ncclGetUniqueId(&id)).
#define GALV_NCCL(call) ::galvatron::comm::nccl::check((call), #call, std::source_location::current())
