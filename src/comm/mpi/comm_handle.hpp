#pragma once
// The only owner of an MPI communicator.

#include <mpi.h>

#include <string>

namespace galvatron::comm::mpi {

/// Move-only. Freeing is collective, so it is left out while unwinding and after MPI has ended.
class CommHandle {
 public:
  CommHandle() = default;
  /// Takes `comm`, lets it return errors and gives it a name for debuggers.
  CommHandle(MPI_Comm comm, const std::string& name);
  CommHandle(CommHandle&& other) noexcept;
  CommHandle& operator=(CommHandle&& other) noexcept;
  ~CommHandle();

  MPI_Comm get() const { return comm_; }

 private:
  void release() noexcept;

  MPI_Comm comm_ = MPI_COMM_NULL;
};

}  // namespace galvatron::comm::mpi
