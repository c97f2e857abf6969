#pragma once
// How the host reads and writes bytes of a device. On the CPU it is the memory itself and costs nothing;
// elsewhere it is a page-locked copy that travels on a stream. Whatever is prepared or inspected by the host
// (first weights, tokens, checkpoints, payloads of link tests) goes through here.

#include <cstdint>
#include <functional>
#include <span>

#include "device/device.hpp"

namespace galvatron::device {

/// One look or edit at a time; each ends the one before. Not for dry devices: there is nothing to see.
class HostWindow {
 public:
  /// Both outlive it. Copies are made in the stream's order and are over when a call returns.
  HostWindow(Device& device, Stream& stream) : device_(device), stream_(stream) {}

  /// The bytes at `data` after all work given to the stream so far.
  std::span<const std::byte> look(const std::byte* data, int64_t bytes);
  /// Room for `bytes` bytes whose contents are unspecified, and that are at `data` after put_back().
  std::span<std::byte> edit(std::byte* data, int64_t bytes);
  void put_back();

 private:
  bool direct() const { return device_.kind() == DeviceKind::cpu; }
  std::span<std::byte> staging(int64_t bytes);

  Device& device_;
  Stream& stream_;
  HostBuffer staging_;  // grows to the largest request
  std::byte* edited_ = nullptr;
  int64_t edited_bytes_ = 0;
};

}  // namespace galvatron::device
