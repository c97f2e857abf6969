#pragma once
// A square matrix product that can be played again and again: the computation that peaks and interference are
// measured with.

#include <cstdint>

#include "comm/world.hpp"
#include "device/device.hpp"
#include "kernels/kernels.hpp"

namespace galvatron::measure {

class GemmBench {
 public:
  /// Collective: throws core::AgreedError when a rank has no memory for it.
  GemmBench(comm::World& world, device::Device& device, kernels::Kernels& kernels, int64_t size,
            core::DType dtype);

  /// One product, done when it returns; its seconds. Local.
  double play();
  double flops() const;

 private:
  kernels::Kernels& kernels_;
  int64_t size_;
  device::Buffer a_, b_, c_, workspace_;
  kernels::GemmArgs args_;
  std::unique_ptr<device::Stream> stream_;
};

}  // namespace galvatron::measure
