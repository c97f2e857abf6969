// A barrier before every repetition keeps the ranks together; each rank keeps its own times.
#include "measure/peaks.hpp"

#include <algorithm>
#include <functional>

#include "core/format.hpp"
#include "measure/gather.hpp"
#include "measure/gemm_bench.hpp"
#include "measure/sampler.hpp"
#include "measure/statistics.hpp"

namespace galvatron::measure {
namespace {

/// This rank's seconds of every repetition of `work`; all ranks repeat it equally often. Collective.
std::vector<double> timed_together(comm::World& world, const SampleRule& rule,
                                   const std::function<void()>& work) {
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
  return mine;
}

/// The size of which one product of the slowest rank takes as long as the options say. Collective.
int64_t fitting_size(comm::World& world, device::Device& device, kernels::Kernels& kernels, core::DType dtype,
                     const PeakOptions& options) {
  if (options.gemm_size > 0) return options.gemm_size;
  constexpr int64_t smallest = 256, largest = 8192;
  for (int64_t size = smallest; size < largest; size *= 2) {
    GemmBench bench(world, device, kernels, size, dtype);
    bench.play();  // the first one makes what later ones use again
    if (largest_of(world, bench.play()) >= options.gemm_seconds) return size;
  }
  return largest;
}

std::vector<double> add_seconds(comm::World& world, device::Device& device, kernels::Kernels& kernels,
                                int64_t bytes, const SampleRule& rule) {
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

PeakCoverage measure_peaks(comm::World& world, device::Device& device, kernels::Kernels& kernels,
                           const PeakOptions& options, Budget& budget, cost::HardwareProfile& profile,
                           store::RawTable& raw) {
  raw.x_unit = "rows, or bytes";
  raw.meaning = "square matrix products over their rows; sums of arrays over the bytes of one";
  PeakCoverage coverage;
  coverage.wanted = static_cast<int64_t>(options.dtypes.size()) + 1;
  const auto rule_now = [&] {
    const auto parts = static_cast<double>(coverage.wanted - coverage.measured);
    SampleRule rule;
    rule.target = options.iterations;
    rule.seconds = std::clamp(budget.left() / parts, 0.0, options.seconds);
    return rule;
  };
  const auto measure_type = [&](core::DType dtype) {
    if (profile.gemm_peaks.contains(dtype)) {
      ++coverage.measured;
      ++coverage.kept;
      return;
    }
    if (dtype != options.dtypes.front() && budget.spent()) return;
    const auto rule = rule_now();
    const auto size = fitting_size(world, device, kernels, dtype, options);
    GemmBench bench(world, device, kernels, size, dtype);
    const auto seconds = timed_together(world, rule, [&] { bench.play(); });
    profile.gemm_peaks[dtype] = world.all_gather(bench.flops() / std::max(median_of(seconds), 1e-9));
    keep_samples(world, core::format("gemm {}", core::name(dtype)), static_cast<double>(size), seconds, raw);
    ++coverage.measured;
  };
  measure_type(options.dtypes.front());
  if (profile.memory_bytes_per_second.empty()) {
    const auto bytes = static_cast<double>(options.array_bytes);
    const auto seconds = add_seconds(world, device, kernels, options.array_bytes, rule_now());
    profile.memory_bytes_per_second = world.all_gather(3.0 * bytes / std::max(median_of(seconds), 1e-9));
    keep_samples(world, "sum of two arrays into a third", bytes, seconds, raw);
  } else {
    ++coverage.kept;
  }
  ++coverage.measured;
  for (size_t i = 1; i < options.dtypes.size(); ++i) measure_type(options.dtypes[i]);
  return coverage;
}

}  // namespace galvatron::measure
