#pragma once
// One file written by all ranks through MPI's own input and output, which knows how parallel file systems
// like to be written to: each rank for itself, or in calls that all ranks make together.

#include <mpi.h>

#include <cstdint>
#include <filesystem>
#include <span>

namespace galvatron::store {

enum class ParallelWay { independent, collective };

/// Every member but rank-local errors is collective over MPI_COMM_WORLD; one thread of a rank at a time uses
/// such files. Errors are kept and thrown by check(), so that no rank leaves the others in a collective call.
class ParallelFile {
 public:
  /// Opens an existing file for writing.
  ParallelFile(std::filesystem::path path, ParallelWay way);
  ParallelFile(const ParallelFile&) = delete;
  ParallelFile& operator=(const ParallelFile&) = delete;
  /// Does nothing collective: a file that was not closed stays open.
  ~ParallelFile() = default;

  /// With ParallelWay::collective all ranks call it equally often, those with nothing left with no bytes.
  void write(int64_t offset, std::span<const std::byte> bytes);
  /// Makes what was written visible to all and closes. Not where the opening failed on some rank.
  void close();

  /// Local: throws DiskError with the first error of this rank so far.
  void check() const;

 private:
  void keep(int code, const char* what);

  std::filesystem::path path_;
  ParallelWay way_;
  MPI_File file_ = MPI_FILE_NULL;
  int error_ = MPI_SUCCESS;
  const char* failed_ = "";
};

}  // namespace galvatron::store
