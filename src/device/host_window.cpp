// The host's view of device memory: the memory itself, or a copy of it.

#include "device/host_window.hpp"

#include "core/errors.hpp"

namespace galvatron::device {

std::span<std::byte> HostWindow::staging(int64_t bytes) {
  if (staging_.bytes() < bytes) staging_ = HostBuffer(device_, bytes);
  return staging_.span().first(static_cast<size_t>(bytes));
}

std::span<const std::byte> HostWindow::look(const std::byte* data, int64_t bytes) {
  GALV_ASSERT(device_.kind() != DeviceKind::dry && bytes >= 0, bytes);
  edited_ = nullptr;
  if (direct()) return {data, static_cast<size_t>(bytes)};
  const auto copy = staging(bytes);
  device_.download(stream_, data, copy);
  stream_.synchronize();
  return copy;
}

std::span<std::byte> HostWindow::edit(std::byte* data, int64_t bytes) {
  GALV_ASSERT(device_.kind() != DeviceKind::dry && bytes >= 0, bytes);
  edited_ = data;
  edited_bytes_ = bytes;
  if (direct()) return {data, static_cast<size_t>(bytes)};
  return staging(bytes);
}

void HostWindow::put_back() {
  if (edited_ == nullptr) return;
  if (!direct()) {
    device_.upload(stream_, staging_.span().first(static_cast<size_t>(edited_bytes_)), edited_);
    stream_.synchronize();
  }
  edited_ = nullptr;
}

}  // namespace galvatron::device
