// A barrier before every repetition keeps the ranks together; each rank keeps its own times.
#include "measure/peaks.hpp"

#include <algorithm>
#include <functional>

#include "measure/sampler.hpp"
#include "measure/statistics.hpp"

namespace galvatron::measure {
namespace {

/// This rank's median seconds of `work`; all ranks repeat it equally often. Collective.
double timed_together(comm::World& world, const SampleRule& rule, const std::function<void()>& work) {
  Sampler sampler(rule);
  std::vector<double> mine;
  for (auto count = sampler.next_batch(); count > 0; count = sampler.next_batch()) {
    std::vector<double> batch;
    const double batch_begin = now_seconds();
    for (int64_t i = 0; i < count; ++i) {
      world.barrier();
      const double begin = now_seconds();
      work();
      batch.push_back(now_seconds() - begin);
    }
    const auto own = batch;
    batch.push_back(now_seconds() - batch_begin);
    world.all_reduce(std::span<double>(batch), comm::ReduceOp::max);
    const auto before = sampler.samples().size();
    sampler.add(std::span(batch).first(own.size()), batch.back());
    if (sampler.samples().size() > before) mine.insert(mine.end(), own.begin(), own.end());
  }
  return std::max(median_of(mine), 1e-9);
}

double gemm_seconds(comm::World& world, device::Device& device, kernels::Kernels& kernels, int64_t size,
                    core::DType dtype, const SampleRule& rule) {
  device::Buffer a, b, c, workspace;
  kernels::GemmArgs args;
  world.agree("measure the gemm peak", [&] {
    const auto bytes = size * size * core::size_of(dtype);
    a = device::Buffer(device, bytes);
    b = device::Buffer(device, bytes);
    c = device::Buffer(device, bytes);
    args.a = device::matrix(a.data(), dtype, size, size);
    args.b = device::matrix(b.data(), dtype, size, size);
    args.c = device::matrix(c.data(), dtype, size, size);
    const auto workspace_bytes = kernels.gemm_workspace_bytes(args);
    if (workspace_bytes == 0) return;
    workspace = device::Buffer(device, workspace_bytes);
    args.workspace = device::vector(workspace.data(), core::DType::u8, workspace_bytes);
  });
  const auto stream = device.make_stream();
  // Ones, not zeros: some processors multiply zeros at another clock.
  kernels.fill(*stream, args.a, 1.0);
  kernels.fill(*stream, args.b, 1.0);
  return timed_together(world, rule, [&] {
    kernels.gemm(*stream, args);
    stream->synchronize();
  });
}

double add_seconds(comm::World& world, device::Device& device, kernels::Kernels& kernels, int64_t bytes,
                   const SampleRule& rule) {
  device::Buffer a, b, out;
  world.agree("measure the memory bandwidth", [&] {
    a = device::Buffer(device, bytes);
    b = device::Buffer(device, bytes);
    out = device::Buffer(device, bytes);
  });
  // As rows of 1024, the shape of activations.
  constexpr int64_t columns = 1024;
  const int64_t rows = bytes / core::size_of(core::DType::f32) / columns;
  const auto view = [&](const device::Buffer& buffer) {
    return device::matrix(buffer.data(), core::DType::f32, rows, columns);
  };
  const auto stream = device.make_stream();
  kernels.fill(*stream, view(a), 1.0);
  kernels.fill(*stream, view(b), 1.0);
  return timed_together(world, rule, [&] {
    kernels.add(*stream, view(a), view(b), {}, view(out));
    stream->synchronize();
  });
}

}  // namespace

Peaks measure_peaks(comm::World& world, device::Device& device, kernels::Kernels& kernels,
                    const PeakOptions& options, Budget& budget) {
  SampleRule rule;
  rule.target = options.iterations;
  rule.seconds = std::clamp(0.5 * budget.left(), 0.0, options.seconds);
  const auto n = static_cast<double>(options.gemm_size);
  const double gemm = gemm_seconds(world, device, kernels, options.gemm_size, options.dtype, rule);
  rule.seconds = std::clamp(budget.left(), 0.0, options.seconds);
  const double add = add_seconds(world, device, kernels, options.array_bytes, rule);
  Peaks peaks;
  peaks.gemm_flops = world.all_gather(2.0 * n * n * n / gemm);
  peaks.memory_bytes_per_second = world.all_gather(3.0 * static_cast<double>(options.array_bytes) / add);
  return peaks;
}

}  // namespace galvatron::measure
