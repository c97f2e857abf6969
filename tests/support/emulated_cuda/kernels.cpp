// What a device gives to the kernels, given by the host. Products are those of gemm_by_tiles.

#include "support/emulated_cuda/kernels.hpp"

#include <vector>

#include "kernels/cuda/dispatch.hpp"

namespace galvatron::test {
namespace {

using namespace kernels;

class EmulatedKernels final : public cuda::Dispatch {
 public:
  int64_t gemm_workspace_bytes(const GemmArgs&) override { return 0; }

 private:
  cudaStream_t handle(Stream&) override { return nullptr; }
  void product(cudaStream_t stream, const GemmArgs& args) override { cuda::gemm_by_tiles(stream, args); }
  cuda::Scratch take_scratch(cudaStream_t) override {
    return {reinterpret_cast<std::byte*>(scratch_.data()), static_cast<int64_t>(scratch_.size() * 8)};
  }
  void give_back(cudaStream_t) override {}

  /// Small, so that sums which do not fit in one go are met.
  std::vector<double> scratch_ = std::vector<double>(16);
};

}  // namespace

std::unique_ptr<Kernels> make_emulated_kernels() {
  return std::make_unique<EmulatedKernels>();
}

}  // namespace galvatron::test
