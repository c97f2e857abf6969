// All ranks walk the same worklist; how often each Program is played is decided from reduced times.
#include "measure/layers.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <memory>

#include "core/errors.hpp"
#include "core/format.hpp"
#include "core/units.hpp"
#include "measure/layer_bench.hpp"
#include "measure/statistics.hpp"
#include "runtime/kernel_args.hpp"

namespace galvatron::measure {
namespace {

using Times = std::map<StepPoint, std::vector<double>>;

/// The bench, or null on every rank when one of them has no memory for it; no memory is a finding, not an
/// error. Collective.
std::unique_ptr<LayerBench> make_bench(comm::World& world, device::Device& device, kernels::Kernels& kernels,
                                       const program::Program& program, int64_t memory_bytes) {
  std::unique_ptr<LayerBench> bench;
  std::array<int64_t, 1> failed = {0};
  if (memory_bytes > 0 && bench_bytes(program) > memory_bytes) failed[0] = 1;
  if (failed[0] == 0) {
    try {
      bench = std::make_unique<LayerBench>(device, kernels, program);
    } catch (const core::ResourceError&) {
      failed[0] = 1;
    }
  }
  world.all_reduce(std::span<int64_t>(failed), comm::ReduceOp::max);
  if (failed[0] != 0) bench.reset();
  return bench;
}

/// A burst lasts at least this long, so that ranks which share a core take turns several times within it.
constexpr double burst_seconds = 0.08;

/// `plays` times in a row on all ranks at once; the slowest one's seconds. Collective.
double play_together(comm::World& world, LayerBench& bench, int64_t plays, Times& times) {
  world.barrier();
  std::array<double, 1> elapsed = {now_seconds()};
  for (int64_t i = 0; i < plays; ++i) bench.play(times);
  elapsed[0] = now_seconds() - elapsed[0];
  world.all_reduce(std::span<double>(elapsed), comm::ReduceOp::max);
  return elapsed[0];
}

/// This rank's samples of one Program. Collective.
Times sample(comm::World& world, LayerBench& bench, double seconds, int64_t iterations) {
  Times cold;
  const double first = play_together(world, bench, 1, cold);
  if (first > 0.5 * seconds) return cold;  // no time for more: a cold time is better than none
  Times times;
  const double once = std::max(first, 1e-6);
  const auto wanted = std::max(iterations, static_cast<int64_t>(burst_seconds / once));
  const auto affordable = static_cast<int64_t>((seconds - first) / once);
  play_together(world, bench, std::clamp<int64_t>(affordable, 1, wanted), times);
  return times;
}

/// How much longer the plays took than their medians say: 1 on a core of its own, the number of sharers where
/// ranks share one. A step is shorter than a time slice, so its median never sees the sharing; the sum over a
/// burst does.
double sharing_of(const Times& times) {
  double all = 0, medians = 0;
  for (const auto& [point, samples] : times) {
    for (const double sample : samples) all += sample;
    medians += summarise(samples).median * static_cast<double>(samples.size());
  }
  return medians > 0 ? std::max(1.0, all / medians) : 1.0;
}

/// Reduces one Program's samples over the ranks; adds this rank's medians to `own_seconds`.
std::map<StepPoint, cost::Curve::Point> reduced(comm::World& world, const Times& times, double& own_seconds) {
  constexpr size_t numbers = 5;
  const double sharing = sharing_of(times);
  std::vector<double> values;
  for (const auto& [point, samples] : times) {
    const auto s = summarise(samples);
    own_seconds += s.median;
    values.insert(values.end(), {s.median * sharing, s.minimum, s.p95, s.p99, s.coefficient_of_variation});
  }
  world.all_reduce(std::span<double>(values), comm::ReduceOp::max);
  std::map<StepPoint, cost::Curve::Point> out;
  size_t at = 0;
  for (const auto& [point, samples] : times) {
    out[point] = {
        point.rows,     std::max(values[at], 1e-9),          values[at + 1], values[at + 2], values[at + 3],
        values[at + 4], static_cast<int64_t>(samples.size())};
    at += numbers;
  }
  return out;
}

}  // namespace

LayerCoverage measure_layers(comm::World& world, device::Device& device, kernels::Kernels& kernels,
                             const std::vector<LayerCase>& candidates, const LayerOptions& options,
                             Budget& budget, cost::ModelProfile& profile) {
  const runtime::KernelWorkspace workspace(kernels);
  const auto list = make_worklist(candidates, workspace);
  LayerCoverage coverage;
  coverage.wanted_points = static_cast<int64_t>(list.points.size());
  coverage.wanted_programs = static_cast<int64_t>(list.cases.size());
  std::map<StepPoint, cost::Curve::Point> found;
  double own_seconds = 0;
  for (size_t i = 0; i < list.cases.size(); ++i) {
    const double left = budget.left();
    if (left <= 0) break;
    const auto& [layer, context] = list.cases[i];
    const auto program = program::lower(layer, context, workspace);
    const auto bench = make_bench(world, device, kernels, program, options.memory_bytes);
    if (!bench) {
      coverage.left_out.push_back(core::format("{} as {} with {} samples needs {}: no memory", layer.kind,
                                               spec::to_string(context.strategy), context.samples,
                                               core::format_bytes(bench_bytes(program))));
      continue;
    }
    const auto times =
        sample(world, *bench, left / static_cast<double>(list.cases.size() - i), options.iterations);
    // A point that several Programs hold keeps the first one's value, with which its curve began.
    found.merge(reduced(world, times, own_seconds));
    ++coverage.programs;
  }
  for (const auto& [point, value] : found) profile.steps[point.key].points.push_back(value);
  coverage.points = std::count_if(list.points.begin(), list.points.end(),
                                  [&](const auto& point) { return found.contains(point); });
  coverage.rank_seconds = world.all_gather(own_seconds);
  return coverage;
}

}  // namespace galvatron::measure
