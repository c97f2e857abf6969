// Life and death of an MPI communicator.
#include "comm/mpi/comm_handle.hpp"

#include <exception>
#include <utility>

#include "comm/mpi/check.hpp"

namespace galvatron::comm::mpi {

CommHandle::CommHandle(MPI_Comm comm, const std::string& name) : comm_(comm) {
  GALV_MPI(MPI_Comm_set_errhandler(comm_, MPI_ERRORS_RETURN));
  GALV_MPI(MPI_Comm_set_name(comm_, name.substr(0, MPI_MAX_OBJECT_NAME - 1).c_str()));
}

CommHandle::CommHandle(CommHandle&& other) noexcept : comm_(std::exchange(other.comm_, MPI_COMM_NULL)) {}

CommHandle& CommHandle::operator=(CommHandle&& other) noexcept {
  if (this != &other) {
    release();
    comm_ = std::exchange(other.comm_, MPI_COMM_NULL);
  }
  return *this;
}

CommHandle::~CommHandle() {
  release();
}

void CommHandle::release() noexcept {
  if (comm_ == MPI_COMM_NULL || std::uncaught_exceptions() > 0) return;
  int finalized = 0;
  if (MPI_Finalized(&finalized) == MPI_SUCCESS && !finalized) MPI_Comm_free(&comm_);
  comm_ = MPI_COMM_NULL;
}

}  // namespace galvatron::comm::mpi
