#pragma once
// The way of tokens and labels from the loader's hands to the device. On the CPU the loader writes them where
// they are read; elsewhere into page-locked memory from where they travel while the host prepares the next.

#include <array>
#include <functional>
#include <memory>

#include "device/device.hpp"
#include "device/tensor.hpp"
#include "runtime/player.hpp"

namespace galvatron::runtime {

class TokenFeed {
 public:
  /// Both outlive it; copies go in the order of `stream`.
  TokenFeed(device::Device& device, device::Stream& stream);

  /// `fill` writes a host view of the shape of `out`; its contents are at `out` for work that the stream is
  /// given from now on.
  void put(device::TensorView out, const std::function<void(device::TensorView)>& fill);

 private:
  /// Staging memory and the moment from which it may be written again.
  struct Place {
    device::HostBuffer memory;
    std::unique_ptr<device::Event> sent;
  };

  device::Device& device_;
  device::Stream& stream_;
  std::array<Place, 4> places_;  // take turns, so that the host is ahead by a few micro-batches
  size_t next_ = 0;
};

/// A source whose views are of host memory, as one whose views are of the device.
class FedSource final : public MicroBatchSource {
 public:
  FedSource(TokenFeed& feed, MicroBatchSource& source) : feed_(feed), source_(source) {}
  void tokens(int64_t micro, device::TensorView out) override {
    feed_.put(out, [&](device::TensorView host) { source_.tokens(micro, host); });
  }
  void labels(int64_t micro, device::TensorView out) override {
    feed_.put(out, [&](device::TensorView host) { source_.labels(micro, host); });
  }

 private:
  TokenFeed& feed_;
  MicroBatchSource& source_;
};

}  // namespace galvatron::runtime
