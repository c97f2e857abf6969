// Buffer and HostBuffer, the only owners of a device's memory and of the host's beside it; the names of the
// kinds.

#include "device/device.hpp"

#include <cstdlib>
#include <cstring>
#include <utility>

#include "core/errors.hpp"
#include "core/format.hpp"
#include "core/units.hpp"

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

OwnedBytes::OwnedBytes(OwnedBytes&& other) noexcept
    : device_(std::exchange(other.device_, nullptr)),
      place_(other.place_),
      data_(std::exchange(other.data_, nullptr)),
      bytes_(std::exchange(other.bytes_, 0)) {}

OwnedBytes& OwnedBytes::operator=(OwnedBytes&& other) noexcept {
  if (this != &other) {
    release();
    device_ = std::exchange(other.device_, nullptr);
    place_ = other.place_;
    data_ = std::exchange(other.data_, nullptr);
    bytes_ = std::exchange(other.bytes_, 0);
  }
  return *this;
}

OwnedBytes::~OwnedBytes() {
  release();
}

void OwnedBytes::release() noexcept {
  // A dry buffer has no data but is counted, so the device decides and not the pointer.
  if (device_ && place_ == Place::device) device_->deallocate(data_, bytes_);
  if (device_ && place_ == Place::host && data_) device_->deallocate_host(data_);
  device_ = nullptr;
  data_ = nullptr;
  bytes_ = 0;
}

Buffer::Buffer(Device& device, int64_t bytes)
    : OwnedBytes(device, Place::device, device.allocate(bytes), bytes) {}

HostBuffer::HostBuffer(Device& device, int64_t bytes)
    : OwnedBytes(device, Place::host, device.allocate_host(bytes), bytes) {}

std::byte* Device::allocate_host(int64_t bytes) {
  constexpr size_t alignment = 64;
  GALV_ASSERT(bytes >= 0, bytes);
  if (bytes == 0) return nullptr;
  const auto padded = (static_cast<size_t>(bytes) + alignment - 1) / alignment * alignment;
  auto* data = std::aligned_alloc(alignment, padded);
  if (!data)
    throw core::ResourceError(core::format("cannot allocate {} of host memory", core::format_bytes(bytes)));
  std::memset(data, 0, padded);
  return static_cast<std::byte*>(data);
}

void Device::deallocate_host(std::byte* data) noexcept {
  std::free(data);
}

void Stream::begin_capture() {
  throw core::InternalError(
      "this device's work is done before the call returns: there is nothing to capture");
}

std::unique_ptr<Graph> Stream::end_capture() {
  throw core::InternalError("no capture has begun");
}

}  // namespace galvatron::device
