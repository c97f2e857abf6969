#pragma once
// A device whose memory the host cannot touch: every access that does not go through the device ends the test
// with a fault. It stands in for a GPU where there is none, so that host code which follows a device pointer
// is found on any machine. Kernels are the CPU's; memory is opened for their calls only.

#include <memory>

#include "device/device.hpp"
#include "kernels/kernels.hpp"

namespace galvatron::test {

/// Says that it is a CUDA device. Copies are done when they return.
class FarDevice : public device::Device {
 public:
  /// Everybody may touch the memory; nobody may.
  virtual void open() = 0;
  virtual void close() = 0;
};

std::unique_ptr<FarDevice> make_far_device();

/// The CPU's kernels on memory of `far`, which outlives them. In far_kernels.cpp.
std::unique_ptr<kernels::Kernels> make_far_kernels(FarDevice& far, int threads);

}  // namespace galvatron::test
