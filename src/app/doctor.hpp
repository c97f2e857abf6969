#pragma once
// galvatron doctor in two halves: what each rank finds out about itself and its node, and what is thought of
// all of it. The second half is pure, so that machines that are not there can be judged in tests.

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "app/context.hpp"
#include "comm/world.hpp"

namespace galvatron::app {

enum class Finding { ok, warning, failure };

/// One line of the doctor's table.
struct Check {
  std::string name;
  Finding finding = Finding::ok;
  std::string text;    ///< what was found
  std::string advice;  ///< what to do; empty where all is well
};

/// What one rank knows. Bytes are −1 where there is no limit or it is not known.
struct RankFacts {
  int node = 0;
  std::string host;
  std::vector<int> cores;     ///< that this process may run on
  int64_t machine_cores = 0;  ///< of the node
  int64_t threads = 0;        ///< OMP_NUM_THREADS; 0 = not set
  std::string yields;         ///< OMPI_MCA_mpi_yield_when_idle
  std::string device;         ///< names the hardware; empty on CPUs
  std::string visible;        ///< CUDA_VISIBLE_DEVICES
  int64_t available_bytes = -1;
  int64_t address_space_bytes = -1;  ///< RLIMIT_AS
  int64_t locked_bytes = -1;         ///< RLIMIT_MEMLOCK
  int64_t open_files = -1;           ///< RLIMIT_NOFILE
  int64_t shared_bytes = -1;         ///< free in /dev/shm
  bool infiniband = false;
  double clock_offset = 0;  ///< seconds that this rank's clock is ahead of rank 0's, at least
  std::string program;      ///< what the program says of itself, and where it lies
  std::string settings;     ///< variables that steer MPI, UCX and NCCL, one per line
};

/// What this rank finds out about itself. Not collective.
RankFacts facts_of(const comm::World& world, const std::string& device);

/// One text for the wire, and back.
std::string to_text(const RankFacts& facts);
RankFacts facts_from(const std::string& text);

/// What is thought of all ranks, in world order.
Check judge_program(const std::vector<RankFacts>& ranks);
Check judge_settings(const std::vector<RankFacts>& ranks);
Check judge_nodes(const std::vector<RankFacts>& ranks);
Check judge_binding(const std::vector<RankFacts>& ranks);
Check judge_devices(const std::vector<RankFacts>& ranks);
Check judge_memory(const std::vector<RankFacts>& ranks);
Check judge_limits(const std::vector<RankFacts>& ranks);
Check judge_clocks(const std::vector<RankFacts>& ranks);

/// Collective. Messages of two sizes around all ranks, each of which says whom it waits for: a pair that
/// cannot talk ends the job with exit code 9 and a table after `patience` seconds.
Check check_ring(Context& context, double patience);
/// Collective. Whether every node sees in `folder` what the others write, how soon, and how much room there
/// is.
Check check_folder(Context& context, const std::filesystem::path& folder);
/// Collective. An HDF5 file made by rank 0, read by all.
Check check_hdf5(Context& context, const std::filesystem::path& folder);
/// Collective. In which ways the folder takes checkpoints, and how fast.
struct CheckpointCheck {
  Check check;
  bool hangs = false;  ///< a way of writing never ended: the job must be ended, not left
};
CheckpointCheck check_checkpoints(Context& context, const std::filesystem::path& folder);

/// The table, with what to do below each line that is not well.
std::string doctor_table(const std::vector<Check>& checks);

}  // namespace galvatron::app
