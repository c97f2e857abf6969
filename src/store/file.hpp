#pragma once
// Files as descriptors, with every return code checked and every failure carrying the path and the system's
// words. Where a sync matters it is spelled out here, because the C++ streams cannot say it.

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>

#include "core/errors.hpp"

namespace galvatron::store {

/// A failing disk: no space, quota, I/O error, a file that is not there. Saving turns it into a warning.
class DiskError : public core::ResourceError {
 public:
  explicit DiskError(const std::string& text) : ResourceError(core::ExitCode::environment, text) {}
};

/// An open file. Move-only; closing in the destructor ignores errors, so writers call sync() first.
class File {
 public:
  enum class Mode {
    read,
    create,  ///< read and write, must not exist
    update,  ///< read and write, must exist
  };

  File(std::filesystem::path path, Mode mode);
  File(File&& other) noexcept;
  File& operator=(File&&) = delete;
  ~File();

  const std::filesystem::path& path() const { return path_; }
  int64_t size() const;
  /// The whole span or DiskError.
  void read(int64_t offset, std::span<std::byte> out) const;
  void write(int64_t offset, std::span<const std::byte> bytes) const;
  void sync() const;
  /// Has the system begin to write these bytes to the disk, where it can, so that a later sync() waits for
  /// less.
  void begin_sync(int64_t offset, int64_t bytes) const;
  void resize(int64_t bytes) const;

 private:
  std::filesystem::path path_;
  int descriptor_ = -1;
};

/// A file in memory (/dev/shm, else the folder for temporary files) with a name that libraries can open. HDF5
/// lays files out in one: the library cannot let go of a file that it fails to flush, so it must never meet a
/// full disk. Holes cost nothing.
class ScratchFile {
 public:
  ScratchFile();
  ScratchFile(const ScratchFile&) = delete;
  ScratchFile& operator=(const ScratchFile&) = delete;
  ~ScratchFile();

  const std::filesystem::path& path() const { return path_; }
  /// Takes the name away; whoever has the file open keeps it. Nothing is left then when the process is
  /// killed.
  void hide() const;
  /// Gives `file` the size of this one and what was written to it; holes are not written.
  void copy_to(const File& file) const;

 private:
  std::filesystem::path path_;
  int descriptor_ = -1;
};

/// Makes a rename or a new file in `folder` survive a crash.
void sync_folder(const std::filesystem::path& folder);

/// rename(2), DiskError on failure.
void rename_file(const std::filesystem::path& from, const std::filesystem::path& to);

/// The bytes of a value without padding.
template <typename T>
std::span<const std::byte> bytes_of(const T& value) {
  return std::as_bytes(std::span(&value, 1));
}
template <typename T>
std::span<std::byte> writable_bytes_of(T& value) {
  return std::as_writable_bytes(std::span(&value, 1));
}

}  // namespace galvatron::store
