#pragma once
// A device whose memory the host cannot touch and whose work is done as late as may be: it stands in for a
// GPU where there is none. Its addresses belong to nothing, so whoever follows one ends the test with a
// fault; what a stream is given waits until somebody waits for the stream, so whoever reads too early reads
// what was there before. Kernels are another device's, on the memory behind the addresses.

#include <functional>
#include <memory>

#include "device/own_memory.hpp"
#include "kernels/kernels.hpp"

namespace galvatron::test {

/// Says that it is a CUDA device. One thread at a time does its work.
class FarDevice : public device::OwnMemory {
 public:
  /// Where the bytes of a far address are; other addresses are themselves.
  virtual std::byte* near(std::byte* data) const = 0;
};

struct FarOptions {
  int64_t bytes = int64_t{2} << 30;  ///< of its memory
  std::string identity{};
};

std::unique_ptr<FarDevice> make_far_device(const FarOptions& options = {});

/// Gives a stream of a far device something to do.
void give(device::Stream& stream, std::function<void()> work);

/// `kernels` of the CPU on memory of `far`, which outlives them. In far_kernels.cpp.
std::unique_ptr<kernels::Kernels> make_far_kernels(FarDevice& far, std::unique_ptr<kernels::Kernels> kernels);
std::unique_ptr<kernels::Kernels> make_far_kernels(FarDevice& far, int threads);

}  // namespace galvatron::test
