// The kernels of a CUDA device: streams are CUDA's, products cuBLASLt's, attention cuDNN's where that is
// there and faster, and the scratch memory one allocation made at the start.

#include <algorithm>
#include <memory>

#include "device/cuda/cuda_device.hpp"
#include "kernels/backends.hpp"
#include "kernels/cuda/cudnn_player.hpp"
#include "kernels/cuda/dispatch.hpp"
#include "kernels/cuda/products.hpp"
#include "kernels/cuda/stopwatch.hpp"

namespace galvatron::kernels {
namespace {

device::cuda::CudaDevice& activated(device::Device& device) {
  auto& cuda = static_cast<device::cuda::CudaDevice&>(device);
  cuda.activate();
  return cuda;
}

class CudaKernels final : public cuda::Dispatch {
 public:
  explicit CudaKernels(device::Device& device)
      : scratch_(activated(device), cuda::scratch_bytes),
        used_(device::cuda::EventUse::order),
        products_(device.name()),
        attention_(cuda::FusedAttention::open(device.name(), [](void* stream, const auto& queue) {
          return cuda::seconds_on(static_cast<cudaStream_t>(stream), queue);
        })) {}

  int64_t gemm_workspace_bytes(const GemmArgs& args) override {
    return cuda::Products::workspace_bytes(args);
  }

  AlgorithmChooser* chooser(core::ChosenStep step) override {
    if (step == core::ChosenStep::products) return &products_.chooser();
    return attention_ ? &attention_->chooser() : nullptr;
  }

  int64_t attention_workspace_bytes(const AttentionArgs& args) override {
    return attention_ ? attention_->workspace_bytes(args) : 0;
  }
  int64_t attention_backward_workspace_bytes(const AttentionBackwardArgs& args) override {
    const auto own = Dispatch::attention_backward_workspace_bytes(args);
    return attention_ ? std::max(own, attention_->workspace_bytes(args)) : own;
  }

 private:
  cudaStream_t handle(Stream& stream) override { return device::cuda::native(stream); }
  void product(cudaStream_t stream, const GemmArgs& args) override { products_.run(stream, args); }
  bool product_with(cudaStream_t stream, const GemmArgs& args, const Epilogue& epilogue) override {
    return products_.run_with(stream, args, epilogue);
  }
  bool fused(cudaStream_t stream, const AttentionArgs& args) override {
    return attention_ && attention_->run(stream, args, [&] { cuda::attention(stream, args); });
  }
  bool fused(cudaStream_t stream, const AttentionBackwardArgs& args) override {
    return attention_ && attention_->run(stream, args, [&] { cuda::attention_backward(stream, args); });
  }

  /// Captured work meets no event: it is in the order of its stream, so other streams wait for all of it.
  cuda::Scratch take_scratch(cudaStream_t stream) override {
    if (capturing(stream))
      captured_on_ = stream;
    else if (beside_graphs(stream))
      GALV_CUDA(cudaDeviceSynchronize());
    else
      GALV_CUDA(cudaStreamWaitEvent(stream, used_.get(), cudaEventWaitDefault));
    return {scratch_.data(), scratch_.bytes()};
  }
  void give_back(cudaStream_t stream) override {
    if (capturing(stream)) return;
    if (beside_graphs(stream)) GALV_CUDA(cudaStreamSynchronize(stream));
    GALV_CUDA(cudaEventRecord(used_.get(), stream));
  }
  static bool capturing(cudaStream_t stream) {
    auto status = cudaStreamCaptureStatusNone;
    GALV_CUDA(cudaStreamIsCapturing(stream, &status));
    return status == cudaStreamCaptureStatusActive;
  }
  bool beside_graphs(cudaStream_t stream) const { return captured_on_ != nullptr && captured_on_ != stream; }

  device::Buffer scratch_;
  cudaStream_t captured_on_ = nullptr;  ///< whose graphs use the scratch memory
  device::cuda::EventHandle used_;      ///< behind the last use of the scratch memory, on whichever stream
  cuda::Products products_;
  std::unique_ptr<cuda::FusedAttention> attention_;  ///< null without the library
};

}  // namespace

std::unique_ptr<Kernels> make_cuda_kernels(device::Device& device) {
  return std::make_unique<CudaKernels>(device);
}

}  // namespace galvatron::kernels
