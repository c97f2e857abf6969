// Factors of ones, not zeros: some processors multiply zeros at another clock.
#include "measure/gemm_bench.hpp"

#include "measure/budget.hpp"

namespace galvatron::measure {

GemmBench::GemmBench(comm::World& world, device::Device& device, kernels::Kernels& kernels, int64_t size,
                     core::DType dtype)
    : kernels_(kernels), size_(size), stream_(device.make_stream()) {
  world.agree("set up a matrix product", [&] {
    const auto bytes = size * size * core::size_of(dtype);
    a_ = device::Buffer(device, bytes);
    b_ = device::Buffer(device, bytes);
    c_ = device::Buffer(device, bytes);
    args_.a = device::matrix(a_.data(), dtype, size, size);
    args_.b = device::matrix(b_.data(), dtype, size, size);
    args_.c = device::matrix(c_.data(), dtype, size, size);
    const auto workspace_bytes = kernels.gemm_workspace_bytes(args_);
    if (workspace_bytes == 0) return;
    workspace_ = device::Buffer(device, workspace_bytes);
    args_.workspace = device::vector(workspace_.data(), core::DType::u8, workspace_bytes);
  });
  kernels.fill(*stream_, args_.a, 1.0);
  kernels.fill(*stream_, args_.b, 1.0);
  stream_->synchronize();
}

double GemmBench::play() {
  const double begin = now_seconds();
  kernels_.gemm(*stream_, args_);
  stream_->synchronize();
  return now_seconds() - begin;
}

double GemmBench::flops() const {
  const auto n = static_cast<double>(size_);
  return 2.0 * n * n * n;
}

}  // namespace galvatron::measure
