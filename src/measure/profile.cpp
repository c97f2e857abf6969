// The order matters little for the numbers and much for the user: the link map, which finds broken hardware,
// comes first.
#include "measure/profile.hpp"

#include <algorithm>
#include <memory>
#include <utility>

#include "core/fingerprint.hpp"
#include "core/format.hpp"
#include "core/units.hpp"
#include "device/topology.hpp"
#include "measure/counters.hpp"
#include "measure/report.hpp"
#include "measure/statistics.hpp"
#include "measure/verdicts.hpp"

namespace galvatron::measure {
namespace {

// Shares of what is left of the budget when each phase starts; the layers take the rest.
constexpr double links_share = 0.2;
constexpr double collectives_share = 0.3;
constexpr double peaks_share = 0.1;

/// Runs the phases one after the other on one budget.
class Phases {
 public:
  Phases(comm::World& world, device::Device& device, kernels::Kernels& kernels, const Options& options,
         core::Log& log)
      : world_(world),
        device_(device),
        kernels_(kernels),
        options_(options),
        log_(log),
        budget_(world, options.budget_seconds, options.hooks),
        counters_(make_counters()) {}

  void links() {
    begin("links", links_share);
    const LinkPaths paths(world_, device_);
    outcome_.links = measure_links(world_, paths.list(), options_.links, budget_);
    store_links(outcome_.links, paths.list().front().name, hardware());
    outcome_.raw["links"] = std::move(outcome_.links.raw);
    end(outcome_.links.measured_pairs(), outcome_.links.pairs(), "pairs");
    for (const auto& line : left_out(outcome_.links.coverage)) log_.detail("profile: links: " + line);
  }

  void collectives() {
    begin("collectives", collectives_share);
    const auto done = measure_collectives(world_, device_, group_sets(nodes_of_ranks(world_)),
                                          options_.collectives, budget_, hardware());
    end(done.measured, done.wanted, "points");
  }

  void peaks() {
    begin("peaks", peaks_share);
    auto peaks = measure_peaks(world_, device_, kernels_, options_.peaks, budget_);
    hardware().gemm_flops = std::move(peaks.gemm_flops);
    hardware().memory_bytes_per_second = std::move(peaks.memory_bytes_per_second);
    end(world_.size(), world_.size(), "ranks");
  }

  void layers(const std::vector<LayerCase>& candidates) {
    begin("layers", 1.0);
    outcome_.layers = measure_layers(world_, device_, kernels_, candidates, options_.layers, budget_,
                                     outcome_.profile.model);
    end(outcome_.layers.points, outcome_.layers.wanted_points, "step shapes");
    for (const auto& line : outcome_.layers.left_out) log_.warning("not measured: " + line);
  }

  Outcome finish() {
    outcome_.coverage = budget_.coverage();
    outcome_.stopped = budget_.stopped();
    hardware().conditions["timer resolution"] =
        core::format_seconds(outcome_.links.coverage.timer_resolution);
    const auto missing = counters_->missing();
    hardware().conditions["counters"] = missing.empty() ? "hardware events" : missing;
    return std::move(outcome_);
  }

  cost::HardwareProfile& hardware() { return outcome_.profile.hardware; }
  Outcome& outcome() { return outcome_; }

 private:
  void begin(const std::string& phase, double share) {
    phase_ = phase;
    budget_.begin(phase, share);
    counters_->start();
  }
  void end(int64_t done, int64_t wanted, const std::string& unit) {
    outcome_.counters.push_back(reading_text(phase_, counters_->stop()));
    budget_.end(done, wanted, unit);
    const auto& c = budget_.coverage().back();
    log_.info(core::format("profile: {}: {} of {} {} in {} of {}", c.phase, c.done, c.wanted, c.unit,
                           core::format_seconds(c.spent_seconds), core::format_seconds(c.allotted_seconds)));
    log_.detail("profile: " + outcome_.counters.back());
  }

  comm::World& world_;
  device::Device& device_;
  kernels::Kernels& kernels_;
  const Options& options_;
  core::Log& log_;
  Budget budget_;
  std::unique_ptr<Counters> counters_;
  std::string phase_;
  Outcome outcome_;
};

void describe_machine(const comm::World& world, const Request& request, cost::HardwareProfile& profile) {
  profile.ranks = world.size();
  profile.nodes = world.nodes();
  profile.threads = request.threads;
  std::vector<int64_t> counts(static_cast<size_t>(world.nodes()), 0);
  for (const int node : nodes_of_ranks(world)) profile.rank_nodes.push_back(node);
  for (const int node : nodes_of_ranks(world)) ++counts[static_cast<size_t>(node)];
  profile.ranks_per_node = *std::max_element(counts.begin(), counts.end());
  for (int node = 0; node < world.nodes(); ++node) profile.hosts.push_back(world.host_of(node));
  profile.conditions = request.conditions;
}

/// The largest of the ranks, part by part. All ranks have the same parts, in the map's order. Collective.
void store_reserve(comm::World& world, const ReserveMeter& meter, cost::HardwareProfile& profile) {
  std::vector<int64_t> bytes;
  for (const auto& [part, amount] : meter.parts()) bytes.push_back(amount);
  world.all_reduce(std::span<int64_t>(bytes), comm::ReduceOp::max);
  size_t at = 0;
  profile.reserve_bytes = 0;
  for (const auto& [part, amount] : meter.parts()) {
    profile.reserve_parts[part] = bytes[at];
    profile.reserve_bytes += bytes[at++];
  }
}

}  // namespace

Outcome measure_all(comm::World& world, device::Device& device, kernels::Kernels& kernels,
                    const Request& request, const Options& options, ReserveMeter& meter, core::Log& log) {
  meter.mark("program");
  Phases phases(world, device, kernels, options, log);
  describe_machine(world, request, phases.hardware());
  // Every rank of a profile is of one kind of host, so the first one speaks for all.
  phases.hardware().conditions["processor"] = world.broadcast(device::host_topology().processor, 0);
  phases.links();
  phases.collectives();
  meter.mark("communicators");
  phases.peaks();
  phases.layers(request.layers);
  meter.mark("kernels");
  store_reserve(world, meter, phases.hardware());
  auto outcome = phases.finish();
  outcome.profile.model.model_fingerprint = request.model_fingerprint;
  outcome.profile.model.dtype = request.dtype;
  outcome.profile.fingerprint = fingerprint_of(world, device, request);
  for (auto& line : outcome.counters) line = world.broadcast(line, 0);
  auto& conditions = outcome.profile.hardware.conditions;
  conditions["counters"] = world.broadcast(conditions["counters"], 0);
  return outcome;
}

std::string fingerprint_of(const comm::World& world, const device::Device& device, const Request& request) {
  std::string text;
  for (int r = 0; r < world.size(); ++r) text += world.host_of(world.node_of(r)) + "\n";
  text += core::format("{}\nthreads {}\n{}\n{}\n{}\n", device.name(), request.threads, request.build,
                       request.model_fingerprint, core::name(request.dtype));
  for (const auto& [layer, context] : request.layers)
    text += core::format("{} {} {} samples, tp index {}\n", layer.kind, spec::to_string(context.strategy),
                         context.samples, context.coordinate.tp);
  return core::fingerprint(text);
}

std::string outcome_report(const Outcome& outcome) {
  auto text = hardware_report(outcome.profile.hardware);
  text += "what the budget covered\n" + coverage_text(outcome.coverage);
  for (const auto& line : outcome.layers.left_out) text += "  not measured: " + line + "\n";
  for (const auto& o : slow_ones(outcome.layers.rank_seconds, Worse::higher))
    text += core::format("  slow device: rank {}: its layer steps take {:.2f} times the median\n", o.index,
                         o.value / o.median);
  text += "counters of rank 0\n";
  for (const auto& line : outcome.counters) text += "  " + line + "\n";
  if (outcome.stopped) text += "stopped on request: the profile is a fragment\n";
  return text;
}

}  // namespace galvatron::measure
