// What a device gives to the kernels, given by the host. Products are those of gemm_by_tiles.

#include "support/emulated_cuda/kernels.hpp"

#include <limits>
#include <vector>

#include "kernels/cuda/dispatch.hpp"
#include "kernels/cuda/product.hpp"

namespace galvatron::test {
namespace {

using namespace kernels;

class EmulatedKernels final : public cuda::Dispatch {
 public:
  int64_t gemm_workspace_bytes(const GemmArgs&) override { return 0; }

 private:
  cudaStream_t handle(Stream&) override { return nullptr; }
  void product(cudaStream_t stream, const GemmArgs& args) override { cuda::gemm_by_tiles(stream, args); }
  /// As one pass would do it: what the rules refuse is refused, and sums replace what was there.
  bool product_with(cudaStream_t stream, const GemmArgs& args, const Epilogue& epilogue) override {
    if (!cuda::product_of(args, epilogue)) return false;
    cuda::gemm_by_tiles(stream, args);
    const auto& [x, out, kind] = epilogue;
    if (kind == core::EpilogueKind::gelu) {
      cuda::activation(stream, ActivationKind::gelu, args.c, out);
    } else if (kind == core::EpilogueKind::gelu_backward) {
      cuda::activation_backward(stream, ActivationKind::gelu, x, args.c, out);
      cuda::fill(stream, args.c, std::numeric_limits<double>::quiet_NaN());
    } else {
      cuda::fill(stream, out, 0.0);
      cuda::column_sum(stream, args.a, out, scratch_of(library_scratch_));
    }
    return true;
  }
  cuda::Scratch take_scratch(cudaStream_t) override { return scratch_of(scratch_); }
  void give_back(cudaStream_t) override {}

  static cuda::Scratch scratch_of(std::vector<double>& memory) {
    return {reinterpret_cast<std::byte*>(memory.data()), static_cast<int64_t>(memory.size() * 8)};
  }

  /// Small, so that sums which do not fit in one go are met.
  std::vector<double> scratch_ = std::vector<double>(16);
  std::vector<double> library_scratch_ = std::vector<double>(16);
};

}  // namespace

std::unique_ptr<Kernels> make_emulated_kernels() {
  return std::make_unique<EmulatedKernels>();
}

}  // namespace galvatron::test
