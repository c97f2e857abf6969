// Thin calls: sizes fit an int, because blocks are short.
#include "store/parallel_file.hpp"

#include <limits>
#include <utility>

#include "core/errors.hpp"
#include "core/format.hpp"
#include "store/file.hpp"

namespace galvatron::store {

ParallelFile::ParallelFile(std::filesystem::path path, ParallelWay way) : path_(std::move(path)), way_(way) {
  keep(MPI_File_open(MPI_COMM_WORLD, path_.c_str(), MPI_MODE_WRONLY, MPI_INFO_NULL, &file_), "open");
}

void ParallelFile::write(int64_t offset, std::span<const std::byte> bytes) {
  GALV_ASSERT(bytes.size() <= static_cast<size_t>(std::numeric_limits<int>::max()), bytes.size());
  const auto count = static_cast<int>(bytes.size());
  MPI_Status status;
  const auto call = way_ == ParallelWay::collective ? MPI_File_write_at_all : MPI_File_write_at;
  keep(call(file_, offset, bytes.data(), count, MPI_BYTE, &status), "write");
}

void ParallelFile::close() {
  keep(MPI_File_sync(file_), "sync");
  keep(MPI_File_close(&file_), "close");
}

void ParallelFile::check() const {
  if (error_ == MPI_SUCCESS) return;
  char text[MPI_MAX_ERROR_STRING] = "";
  int length = 0;
  MPI_Error_string(error_, text, &length);
  throw DiskError(core::format("MPI cannot {} {}: {}", failed_, path_.string(), text));
}

void ParallelFile::keep(int code, const char* what) {
  if (code == MPI_SUCCESS || error_ != MPI_SUCCESS) return;
  error_ = code;
  failed_ = what;
}

}  // namespace galvatron::store
