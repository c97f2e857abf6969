// Buffer, the only owner of device memory, and the names of the kinds.

#include "device/device.hpp"

#include <utility>

#include "core/errors.hpp"

namespace galvatron::device {

std::string to_string(DeviceKind kind) {
  switch (kind) {
    case DeviceKind::cpu:
      return "cpu";
    case DeviceKind::cuda:
      return "cuda";
    case DeviceKind::dry:
      return "dry";
  }
  throw core::InternalError("to_string: unknown device kind");
}

Buffer::Buffer(Device& device, int64_t bytes)
    : device_(&device), data_(device.allocate(bytes)), bytes_(bytes) {}

Buffer::Buffer(Buffer&& other) noexcept
    : device_(std::exchange(other.device_, nullptr)),
      data_(std::exchange(other.data_, nullptr)),
      bytes_(std::exchange(other.bytes_, 0)) {}

Buffer& Buffer::operator=(Buffer&& other) noexcept {
  if (this != &other) {
    release();
    device_ = std::exchange(other.device_, nullptr);
    data_ = std::exchange(other.data_, nullptr);
    bytes_ = std::exchange(other.bytes_, 0);
  }
  return *this;
}

Buffer::~Buffer() {
  release();
}

void Buffer::release() noexcept {
  // A dry buffer has no data but is counted, so the device decides and not the pointer.
  if (device_) device_->deallocate(data_, bytes_);
  device_ = nullptr;
  data_ = nullptr;
  bytes_ = 0;
}

}  // namespace galvatron::device
