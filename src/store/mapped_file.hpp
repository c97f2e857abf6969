#pragma once
// A file as memory that is only read. Datasets are far larger than memory: the system brings in what is
// touched and shares it among the ranks of a node.

#include <cstddef>
#include <filesystem>
#include <span>
#include <utility>

namespace galvatron::store {

/// The whole file, mapped read only for as long as this lives. The file must not shrink meanwhile.
class MappedFile {
 public:
  /// Throws UserError (data) with the system's words when the file cannot be opened or mapped.
  explicit MappedFile(std::filesystem::path path);
  MappedFile(MappedFile&& other) noexcept
      : path_(std::move(other.path_)), bytes_(std::exchange(other.bytes_, {})) {}
  MappedFile& operator=(MappedFile&&) = delete;
  ~MappedFile();

  const std::filesystem::path& path() const { return path_; }
  std::span<const std::byte> bytes() const { return bytes_; }

 private:
  std::filesystem::path path_;
  std::span<const std::byte> bytes_;
};

}  // namespace galvatron::store
