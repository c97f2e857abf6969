// MPI's error codes as text.
#include "comm/mpi/check.hpp"

#include <string>

#include "core/errors.hpp"
#include "core/format.hpp"

namespace galvatron::comm::mpi {

void check(int code, std::string_view call, const std::source_location& where) {
  if (code == MPI_SUCCESS) return;
  char text[MPI_MAX_ERROR_STRING] = "unknown error";
  int length = 0;
  MPI_Error_string(code, text, &length);
  throw core::InternalError(core::format("{} failed: {}", call.substr(0, call.find('(')), text), where);
}

}  // namespace galvatron::comm::mpi
