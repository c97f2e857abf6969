#pragma once
// A CPU device that, when asked, flips the lowest bit of every 4 bytes that hold 1.0f: what a faulty bank of
// memory does to weights, and nothing in the loss shows.

#include <bit>
#include <cstring>
#include <map>
#include <memory>
#include <string>

#include "device/device.hpp"

namespace galvatron::testing {

class FlippingDevice final : public device::Device {
 public:
  device::DeviceKind kind() const override { return cpu_->kind(); }
  std::string name() const override { return cpu_->name(); }
  std::unique_ptr<device::Stream> make_stream(device::StreamUse use) override {
    return cpu_->make_stream(use);
  }
  std::unique_ptr<device::Event> make_event() override { return cpu_->make_event(); }
  std::byte* allocate(int64_t bytes) override {
    auto* data = cpu_->allocate(bytes);
    if (data != nullptr) blocks_[data] = bytes;
    return data;
  }
  void deallocate(std::byte* data, int64_t bytes) noexcept override {
    blocks_.erase(data);
    cpu_->deallocate(data, bytes);
  }
  void upload(device::Stream& stream, std::span<const std::byte> from, std::byte* to) override {
    cpu_->upload(stream, from, to);
  }
  void download(device::Stream& stream, const std::byte* from, std::span<std::byte> to) override {
    cpu_->download(stream, from, to);
  }
  void copy(device::Stream& stream, const std::byte* from, std::byte* to, int64_t bytes) override {
    cpu_->copy(stream, from, to, bytes);
  }
  void zero(device::Stream& stream, std::byte* data, int64_t bytes) override {
    cpu_->zero(stream, data, bytes);
  }
  int64_t bytes_in_use() const override { return cpu_->bytes_in_use(); }
  int64_t peak_bytes() const override { return cpu_->peak_bytes(); }

  /// How many bits were flipped.
  int64_t flip_ones() {
    int64_t flipped = 0;
    for (const auto& [data, bytes] : blocks_)
      for (int64_t at = 0; at + 4 <= bytes; at += 4) {
        uint32_t word = 0;
        std::memcpy(&word, data + at, sizeof word);
        if (word != std::bit_cast<uint32_t>(1.0F)) continue;
        word ^= 1U;
        std::memcpy(data + at, &word, sizeof word);
        ++flipped;
      }
    return flipped;
  }

 private:
  std::unique_ptr<device::Device> cpu_ = device::make_device(device::DeviceKind::cpu);
  std::map<std::byte*, int64_t> blocks_;
};

}  // namespace galvatron::testing
