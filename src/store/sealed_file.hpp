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

#include "store/file.hpp"

namespace galvatron::store {

/// Bytes in front of the HDF5 data. HDF5 wants a power of two from 512 on.
constexpr int64_t user_block_bytes = 4096;

enum class SealedKind : uint32_t { checkpoint = 1, profile = 2 };

/// One stretch of raw data: elements [offset, offset + count) of a tensor, which are the file's bytes
/// [address, address + bytes). As it lies in the dataset /blocks, little-endian.
struct BlockRow {
  int64_t tensor = 0;
  int64_t offset = 0;
  int64_t count = 0;
  int64_t address = 0;
  int64_t bytes = 0;
  int64_t writer = 0;  ///< rank that wrote it
  uint64_t hash = 0;   ///< XXH3, 64 bits, of these bytes
};

/// XXH3, 64 bits.
uint64_t hash_of(std::span<const std::byte> bytes);

/// Writes the header over the finished file. `table_address` is ignored when there are no rows.
void seal(const File& file, SealedKind kind, int64_t table_address, int64_t rows);

/// A file whose header, block table and digest are right; tensor data is not looked at yet.
struct SealedFile {
  File file;
  std::vector<BlockRow> rows;  ///< in the order of (tensor, offset)
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
