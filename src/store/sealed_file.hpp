#pragma once
// The seal on this program's HDF5 files. HDF5 itself may crash on a damaged file, so what it is going to
// parse is hashed first: a header in the user block in front of the HDF5 data names the file's size, its
// block table and the digest of every byte that the block table does not cover.

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "store/block_table.hpp"
#include "store/file.hpp"

namespace galvatron::store {

/// Bytes in front of the HDF5 data. HDF5 wants a power of two from 512 on.
constexpr int64_t user_block_bytes = 4096;

enum class SealedKind : uint32_t { checkpoint = 1, profile = 2 };

/// XXH3, 64 bits.
uint64_t hash_of(std::span<const std::byte> bytes);

/// Writes the header over the finished file. `table_address` is ignored when there are no rows.
void seal(const File& file, SealedKind kind, int64_t table_address, int64_t rows);

/// A file whose header, block table and digest are right; tensor data is not looked at yet.
struct SealedFile {
  File file;
  TablePlace table;
  std::vector<BlockRun> runs;  ///< the table's rows, in the order of the (tensor, offset) of each run's first
};

/// The rows of the block table of a sealed file in the order of addresses, hashes included.
class SealedRows {
 public:
  /// The file outlives it.
  explicit SealedRows(const SealedFile& sealed) : walk_(sealed.runs), hashes_(sealed.file, sealed.table) {}

  /// Nothing at the end.
  std::optional<BlockRow> next();

 private:
  BlockWalk walk_;
  RowHashes hashes_;
};

/// What the header says that the file is, before anything else is checked; nothing when it does not begin
/// with this program's magic. Throws DiskError when the file cannot be read.
std::optional<SealedKind> sealed_kind(const std::filesystem::path& path);

/// Throws UserError (checkpoint) naming the file and what is wrong.
SealedFile open_sealed(const std::filesystem::path& path, SealedKind kind);

/// Compares the hash of one row's bytes, which pass through little memory however many they are.
bool row_is_whole(const File& file, const BlockRow& row);
/// Likewise, and `scratch` has them all afterwards.
bool row_is_whole(const File& file, const BlockRow& row, std::vector<std::byte>& scratch);

/// Runs `body`; what it throws becomes a UserError (checkpoint) that begins with the file's name.
void name_file(const std::filesystem::path& path, const std::function<void()>& body);

}  // namespace galvatron::store
