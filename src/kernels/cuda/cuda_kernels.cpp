// The kernels of a CUDA device: streams are CUDA's, products cuBLASLt's, and the scratch memory one
// allocation made at the start.

#include <type_traits>

#include "device/cuda/cuda_device.hpp"
#include "kernels/backends.hpp"
#include "kernels/cuda/dispatch.hpp"
#include "kernels/cuda/products.hpp"

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
        products_(device.name()) {}

  int64_t gemm_workspace_bytes(const GemmArgs& args) override {
    return cuda::Products::workspace_bytes(args);
  }

  ProductChooser* product_chooser() override { return &products_.chooser(); }

 private:
  cudaStream_t handle(Stream& stream) override { return device::cuda::native(stream); }
  void product(cudaStream_t stream, const GemmArgs& args) override { products_.run(stream, args); }
  bool product_with(cudaStream_t stream, const GemmArgs& args, const Epilogue& epilogue) override {
    return products_.run_with(stream, args, epilogue);
  }

  cuda::Scratch take_scratch(cudaStream_t stream) override {
    GALV_CUDA(cudaStreamWaitEvent(stream, used_.get(), cudaEventWaitDefault));
    return {scratch_.data(), scratch_.bytes()};
  }
  void give_back(cudaStream_t stream) override { GALV_CUDA(cudaEventRecord(used_.get(), stream)); }

  device::Buffer scratch_;
  device::cuda::EventHandle used_;  ///< behind the last use of the scratch memory, on whichever stream
  cuda::Products products_;
};

}  // namespace

std::unique_ptr<Kernels> make_cuda_kernels(device::Device& device) {
  return std::make_unique<CudaKernels>(device);
}

}  // namespace galvatron::kernels
