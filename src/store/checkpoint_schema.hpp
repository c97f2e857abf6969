#pragma once
// Where things lie inside a checkpoint: the HDF5 groups and datasets, written by rank 0 before the ranks fill
// in the data, and read back.

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "store/checkpoint.hpp"

namespace galvatron::store {

/// Bytes in the file where each tensor's data begins (-1: it has none), and the block table.
struct Layout {
  std::vector<int64_t> tensors;
  int64_t table = -1;
};

/// Creates the file anew at `path` (absent before) with everything in it except tensor data and the table's
/// rows; closes it; the sync is the caller's. Local.
Layout create_layout(const std::filesystem::path& path, const CheckpointState& state,
                     const std::vector<TensorInfo>& tensors, int64_t rows);

/// Of a file that open_sealed() has passed. Throws UserError (checkpoint).
CheckpointState state_in(const std::filesystem::path& path);
std::vector<TensorInfo> tensors_in(const std::filesystem::path& path);

/// Where tensor data lies according to HDF5, in the order of tensors_in(): for tests against the block table.
std::vector<int64_t> addresses_in(const std::filesystem::path& path);

}  // namespace galvatron::store
