// The makers of the CUDA back end in a build without CUDA, for tests: a program linked with this file has far
// devices where another one has GPUs. They take the place of those that say what was left out.
//
// GALVATRON_FAR_DEVICES: how many a node has (default: one per rank); GALVATRON_FAR_BYTES: memory of each;
// GALVATRON_FAR_KERNELS=emulated: the CUDA kernels, played thread by thread, instead of the CPU's.

#include <cstdlib>
#include <memory>
#include <string>

#include "comm/device_world.hpp"
#include "comm/staged/staged_communicator.hpp"
#include "core/format.hpp"
#include "device/backends.hpp"
#include "kernels/backends.hpp"
#include "support/emulated_cuda/kernels.hpp"
#include "support/far_device.hpp"

namespace galvatron {
namespace {

int64_t number_of(const char* variable, int64_t otherwise) {
  const char* text = std::getenv(variable);
  return text == nullptr ? otherwise : std::atoll(text);
}

bool emulated() {
  const char* text = std::getenv("GALVATRON_FAR_KERNELS");
  return text != nullptr && std::string(text) == "emulated";
}

/// Stands in for NCCL.
class FarTransport final : public comm::DirectTransport {
 public:
  explicit FarTransport(device::Device& device) : device_(device) {}
  std::unique_ptr<comm::Communicator> make(comm::Group, std::unique_ptr<comm::Communicator> host) override {
    return std::make_unique<comm::StagedCommunicator>(std::move(host), device_);
  }
  void abort() noexcept override {}

 private:
  device::Device& device_;
};

}  // namespace

std::unique_ptr<device::Device> device::make_cuda_device(int local_rank) {
  const auto devices = number_of("GALVATRON_FAR_DEVICES", local_rank + 1);
  test::FarOptions options;
  options.bytes = number_of("GALVATRON_FAR_BYTES", options.bytes);
  options.identity = core::format("0000:{:02x}:00.0", local_rank % devices);
  return test::make_far_device(options);
}

std::unique_ptr<comm::DirectTransport> comm::make_direct_transport(device::Device& device) {
  return std::make_unique<FarTransport>(device);
}

std::unique_ptr<kernels::Kernels> kernels::make_cuda_kernels(device::Device& device) {
  auto& far = static_cast<test::FarDevice&>(device);
  return emulated() ? test::make_far_kernels(far, test::make_emulated_kernels())
                    : test::make_far_kernels(far, 1);
}

}  // namespace galvatron
