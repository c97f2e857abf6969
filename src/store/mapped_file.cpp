// mmap with its errors told.
#include "store/mapped_file.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

#include "core/errors.hpp"
#include "core/format.hpp"

namespace galvatron::store {
namespace {

[[noreturn]] void fail(const char* what, const std::filesystem::path& path, int code) {
  throw core::UserError(core::ExitCode::data, core::format("cannot {} {}: {}", what, path.string(),
                                                           std::generic_category().message(code)));
}

}  // namespace

MappedFile::MappedFile(std::filesystem::path path) : path_(std::move(path)) {
  const int descriptor = ::open(path_.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) fail("open", path_, errno);
  struct stat status {};
  int code = ::fstat(descriptor, &status) == 0 ? 0 : errno;
  if (code == 0 && !S_ISREG(status.st_mode)) code = S_ISDIR(status.st_mode) ? EISDIR : EINVAL;
  const auto size = static_cast<size_t>(status.st_size);
  void* data = nullptr;
  if (code == 0 && size > 0) {
    data = ::mmap(nullptr, size, PROT_READ, MAP_SHARED, descriptor, 0);
    if (data == MAP_FAILED) code = errno;
  }
  ::close(descriptor);
  if (code != 0) fail("read", path_, code);
  bytes_ = {static_cast<const std::byte*>(data), size};
}

MappedFile::~MappedFile() {
  if (!bytes_.empty()) ::munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size());
}

}  // namespace galvatron::store
