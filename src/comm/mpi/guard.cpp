// Starting and ending MPI.
#include "comm/guard.hpp"

#include <mpi.h>

#include <cstdlib>
#include <exception>
#include <map>

#include "comm/mpi/check.hpp"
#include "core/errors.hpp"
#include "core/format.hpp"

namespace galvatron::comm {
namespace {

/// Who says how many ranks there are, the closest launcher first: mpirun of Open MPI, Hydra and PMI-2, Slurm.
constexpr const char* size_variables[] = {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_NTASKS"};

[[noreturn]] void fail_initialised(const std::string& text) {
  MPI_Finalize();
  throw core::UserError(core::ExitCode::environment, text);
}

}  // namespace

std::string launch_problem(int mpi_size, const Environment& environment) {
  if (mpi_size > 1) return {};
  for (const char* variable : size_variables) {
    const auto value = environment(variable);
    if (value.empty()) continue;
    if (std::atoi(value.c_str()) <= 1) return {};
    return core::format(
        "MPI sees 1 rank, but the launcher says {0}={1}: this process was not started as a rank of one MPI "
        "job. Start it with "
        "'srun --mpi=pmix' or with the mpirun of the MPI library that it was built with ('srun --mpi=list' "
        "names what this "
        "Slurm offers).",
        variable, value);
  }
  return {};
}

std::string start_problem(std::string_view mpi_library, const Environment& environment) {
  if (mpi_library.find("Open MPI") == std::string_view::npos) return {};
  // A batch script has a task of its own too, but no more than one.
  if (environment("SLURM_STEP_ID").empty() || std::atoi(environment("SLURM_STEP_NUM_TASKS").c_str()) <= 1)
    return {};
  for (const char* variable : {"PMIX_RANK", "PMI_RANK", "OMPI_COMM_WORLD_SIZE"})
    if (!environment(variable).empty()) return {};
  return core::format(
      "MPI sees 1 rank, but the launcher says SLURM_NTASKS={}: srun did not give this process the interface "
      "(PMI) through which Open MPI finds the other ranks. Start it with 'srun --mpi=pmix' ('srun "
      "--mpi=list' "
      "names what this Slurm offers), or with mpirun.",
      environment("SLURM_STEP_NUM_TASKS"));
}

void check_start() {
  char library[MPI_MAX_LIBRARY_VERSION_STRING] = {};
  int length = 0;
  GALV_MPI(MPI_Get_library_version(library, &length));  // one of the few that may come before MPI_Init
  const auto problem = start_problem(library, [](const char* variable) {
    const char* value = std::getenv(variable);
    return std::string(value == nullptr ? "" : value);
  });
  if (!problem.empty()) throw core::UserError(core::ExitCode::environment, problem);
}

Guard::Guard() {
  std::map<std::string, std::string> before;
  for (const char* variable : size_variables)
    if (const char* value = std::getenv(variable)) before[variable] = value;

  int provided = 0;
  GALV_MPI(MPI_Init_thread(nullptr, nullptr, MPI_THREAD_MULTIPLE, &provided));
  GALV_MPI(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
  GALV_MPI(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN));
  if (provided < MPI_THREAD_MULTIPLE) {
    fail_initialised("this MPI library does not support threads (MPI_THREAD_MULTIPLE)");
  }
  int size = 0;
  GALV_MPI(MPI_Comm_size(MPI_COMM_WORLD, &size));
  const auto problem = launch_problem(size, [&](const char* variable) {
    const auto found = before.find(variable);
    return found == before.end() ? std::string() : found->second;
  });
  if (!problem.empty()) fail_initialised(problem);
}

Guard::~Guard() {
  if (std::uncaught_exceptions() == 0) MPI_Finalize();
}

}  // namespace galvatron::comm
