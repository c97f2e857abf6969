// Counted plays are not timed plays: reading counters takes longer than a short step.
#include <algorithm>
#include <map>
#include <memory>
#include <span>
#include <tuple>
#include <utility>

#include "core/errors.hpp"
#include "measure/counters.hpp"
#include "measure/gather.hpp"
#include "measure/layer_bench.hpp"
#include "measure/layers.hpp"
#include "runtime/kernel_args.hpp"

namespace galvatron::measure {
namespace {

/// Long enough for the system's own clocks, which tick in milliseconds.
constexpr double counted_seconds = 0.03;

struct CountedPhase {
  const char* name;
  std::vector<program::Phase> phases;
};

std::vector<CountedPhase> counted_phases() {
  const auto list = [](const auto& phases) {
    return std::vector<program::Phase>(phases.begin(), phases.end());
  };
  return {{"forward", list(program::forward_phases)},
          {"backward", list(program::backward_phases)},
          {"update", {program::Phase::gradient_norm, program::Phase::update}}};
}

bool has_rows(const cost::ModelProfile& profile, const std::string& kind) {
  return std::any_of(profile.counters.begin(), profile.counters.end(),
                     [&](const auto& row) { return row.layer == kind; });
}

/// The largest case that fits of each kind without rows: what is counted is to stand out from what counting
/// costs.
std::map<std::string, const LayerCase*> one_of_each_kind(const std::vector<LayerCase>& candidates,
                                                         const program::WorkspaceRule& workspace,
                                                         int64_t memory_bytes,
                                                         const cost::ModelProfile& profile) {
  std::map<std::string, const LayerCase*> out;
  for (const auto& candidate : candidates) {
    if (has_rows(profile, candidate.layer.kind)) continue;
    auto& chosen = out[candidate.layer.kind];
    if (chosen != nullptr && chosen->context.samples >= candidate.context.samples) continue;
    const auto program = program::lower(candidate.layer, candidate.context, workspace);
    if (memory_bytes <= 0 || bench_bytes(program) <= memory_bytes) chosen = &candidate;
  }
  std::erase_if(out, [](const auto& entry) { return entry.second == nullptr; });
  return out;
}

/// Readings of one phase, per play, and how often it was played. Local.
std::pair<std::vector<Reading>, int64_t> count(Counters& counters, LayerBench& bench,
                                               std::span<const program::Phase> phases) {
  bench.play(phases);
  int64_t plays = 0;
  const double begin = now_seconds();
  counters.start();
  do {
    bench.play(phases);
    ++plays;
  } while (now_seconds() - begin < counted_seconds);
  auto readings = counters.stop();
  for (auto& reading : readings) reading.value /= static_cast<double>(plays);
  return {std::move(readings), plays};
}

/// Per-token means over the ranks of what each of them counted; `mine` ends with how often it played. Rank 0
/// names the events: the ranks run the same program on the same kind of machine. Collective.
void add_rows(comm::World& world, const std::string& kind, const std::string& phase,
              const std::vector<Reading>& readings, const std::vector<double>& mine,
              cost::ModelProfile& profile) {
  const auto all = gather_numbers(world, mine);
  const auto& first = all.front();
  for (size_t e = 0; e + 1 < first.size(); ++e) {
    double sum = 0, ranks = 0;
    for (const auto& rank : all) {
      if (rank.size() != first.size()) continue;
      sum += rank[e];
      ++ranks;
    }
    const auto name = world.broadcast(e < readings.size() ? readings[e].name : "", 0);
    profile.counters.push_back({kind, phase, name, sum / ranks, static_cast<int64_t>(first.back())});
  }
}

}  // namespace

void measure_counters(comm::World& world, device::Device& device, kernels::Kernels& kernels,
                      const std::vector<LayerCase>& candidates, int64_t memory_bytes, Budget& budget,
                      cost::ModelProfile& profile) {
  const runtime::KernelWorkspace workspace(kernels);
  const auto counters = make_counters();
  profile.counters_missing = world.broadcast(counters->missing(), 0);
  for (const auto& [kind, chosen] : one_of_each_kind(candidates, workspace, memory_bytes, profile)) {
    if (budget.spent()) return;
    const auto program = program::lower(chosen->layer, chosen->context, workspace);
    const auto told = program.output != program::no_value ? program.output : program.input_gradient;
    const auto tokens = static_cast<double>(program.value(told).rows);
    const auto bench = make_bench(device, kernels, program, memory_bytes);  // null: the others count
    for (const auto& phase : counted_phases()) {
      world.barrier();
      std::vector<Reading> readings;
      std::vector<double> numbers;
      if (bench) {
        int64_t plays = 0;
        std::tie(readings, plays) = count(*counters, *bench, phase.phases);
        for (const auto& reading : readings) numbers.push_back(reading.value / tokens);
        numbers.push_back(static_cast<double>(plays));
      }
      add_rows(world, kind, phase.name, readings, numbers, profile);
    }
  }
}

}  // namespace galvatron::measure
