// Plain POSIX calls with the loops and checks that they need.
#include "store/file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <system_error>
#include <utility>
#include <vector>

#include "core/format.hpp"

namespace galvatron::store {
namespace {

[[noreturn]] void fail(const char* what, const std::filesystem::path& path, int code) {
  throw DiskError(
      core::format("cannot {} {}: {}", what, path.string(), std::generic_category().message(code)));
}

int flags_of(File::Mode mode) {
  switch (mode) {
    case File::Mode::read:
      return O_RDONLY;
    case File::Mode::create:
      return O_RDWR | O_CREAT | O_EXCL;
    case File::Mode::update:
      return O_RDWR;
  }
  throw core::InternalError("no such file mode");
}

}  // namespace

File::File(std::filesystem::path path, Mode mode) : path_(std::move(path)) {
  descriptor_ = ::open(path_.c_str(), flags_of(mode) | O_CLOEXEC, 0644);
  if (descriptor_ < 0) fail(mode == Mode::create ? "create" : "open", path_, errno);
}

File::File(File&& other) noexcept
    : path_(std::move(other.path_)), descriptor_(std::exchange(other.descriptor_, -1)) {}

File::~File() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

int64_t File::size() const {
  struct stat status {};
  if (::fstat(descriptor_, &status) != 0) fail("stat", path_, errno);
  return status.st_size;
}

void File::read(int64_t offset, std::span<std::byte> out) const {
  while (!out.empty()) {
    const auto got = ::pread(descriptor_, out.data(), out.size(), offset);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) fail("read", path_, errno);
    if (got == 0) throw DiskError(core::format("{} ends at byte {}", path_.string(), offset));
    out = out.subspan(static_cast<size_t>(got));
    offset += got;
  }
}

void File::write(int64_t offset, std::span<const std::byte> bytes) const {
  while (!bytes.empty()) {
    const auto put = ::pwrite(descriptor_, bytes.data(), bytes.size(), offset);
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) fail("write", path_, errno);
    bytes = bytes.subspan(static_cast<size_t>(put));
    offset += put;
  }
}

void File::sync() const {
  if (::fsync(descriptor_) != 0) fail("sync", path_, errno);
}

void File::begin_sync(int64_t offset, int64_t bytes) const {
  // A hint: what it cannot begin, sync() does, and says so when it fails.
  ::sync_file_range(descriptor_, offset, bytes, SYNC_FILE_RANGE_WRITE);
}

void File::resize(int64_t bytes) const {
  if (::ftruncate(descriptor_, bytes) != 0) fail("resize", path_, errno);
}

ScratchFile::ScratchFile() {
  std::error_code code;
  const std::filesystem::path shared_memory = "/dev/shm";
  const bool usable = ::access(shared_memory.c_str(), W_OK) == 0;
  auto name =
      ((usable ? shared_memory : std::filesystem::temp_directory_path(code)) / "galvatron-XXXXXX").string();
  descriptor_ = ::mkostemp(name.data(), O_CLOEXEC);
  path_ = name;
  if (descriptor_ < 0) fail("create", path_, errno);
}

ScratchFile::~ScratchFile() {
  hide();
  ::close(descriptor_);
}

void ScratchFile::hide() const {
  ::unlink(path_.c_str());
}

void ScratchFile::copy_to(const File& file) const {
  const auto size = ::lseek(descriptor_, 0, SEEK_END);
  file.resize(size);
  std::vector<std::byte> buffer(int64_t{1} << 20);
  for (off_t begin = 0; begin < size;) {
    begin = ::lseek(descriptor_, begin, SEEK_DATA);
    if (begin < 0) break;  // a hole up to the end
    const auto end = ::lseek(descriptor_, begin, SEEK_HOLE);
    while (begin < end) {
      const auto got =
          ::pread(descriptor_, buffer.data(), std::min<size_t>(buffer.size(), end - begin), begin);
      if (got <= 0) fail("read", path_, errno);
      file.write(begin, std::span(buffer).first(static_cast<size_t>(got)));
      begin += got;
    }
  }
}

void sync_folder(const std::filesystem::path& folder) {
  const int descriptor = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0) fail("open folder", folder, errno);
  const int outcome = ::fsync(descriptor);
  const int code = errno;
  ::close(descriptor);
  // Some network file systems know no sync of folders and say EINVAL; their renames are synchronous.
  if (outcome != 0 && code != EINVAL) fail("sync folder", folder, code);
}

void rename_file(const std::filesystem::path& from, const std::filesystem::path& to) {
  if (std::rename(from.c_str(), to.c_str()) != 0) fail("rename", from, errno);
}

}  // namespace galvatron::store
