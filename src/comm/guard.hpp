#pragma once
// MPI in and out. It is the first thing that a verb which needs ranks makes and the last that it destroys,
// and it notices a launcher that started many single processes instead of one job.

#include <functional>
#include <string>
#include <string_view>

namespace galvatron::comm {

/// Looks up an environment variable; empty when it is not set.
using Environment = std::function<std::string(const char*)>;

/// Why this process cannot be one of the ranks that the launcher meant to start: MPI sees `mpi_size` ranks
/// although the launcher says that there are more. Empty when all is well. `environment` is that from before
/// MPI was initialised (MPI changes it).
std::string launch_problem(int mpi_size, const Environment& environment);

/// Why MPI, whose library names itself `mpi_library`, cannot be initialised at all: srun started this process
/// without the interface that Open MPI needs, which would then print a page and abort. Empty when all is
/// well.
std::string start_problem(std::string_view mpi_library, const Environment& environment);

/// Throws core::UserError (environment) with start_problem() of this process. Call it before anything of MPI.
void check_start();

/// Initialises MPI with MPI_THREAD_MULTIPLE (the watchdog may abort from its own thread) and finalises it on
/// destruction, except while unwinding: the other ranks may never come to a collective end.
class Guard {
 public:
  /// Throws core::UserError (environment) when threads are not supported or the launcher and MPI do not know
  /// each other.
  Guard();
  ~Guard();
  Guard(const Guard&) = delete;
  Guard& operator=(const Guard&) = delete;
};

}  // namespace galvatron::comm
