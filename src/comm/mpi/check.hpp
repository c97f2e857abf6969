#pragma once
// The one way to call MPI: every return code becomes an exception with MPI's own words.

#include <mpi.h>

#include <source_location>
#include <string_view>

namespace galvatron::comm::mpi {

/// Throws core::InternalError with the call and MPI's text for `code`, unless it is MPI_SUCCESS.
void check(int code, std::string_view call, const std::source_location& where);

}  // namespace galvatron::comm::mpi

/// GALV_MPI(MPI_Barrier(comm)): the communicator returns errors (MPI_ERRORS_RETURN).
#define GALV_MPI(call) ::galvatron::comm::mpi::check((call), #call, std::source_location::current())
