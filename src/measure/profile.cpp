// The order matters little for the numbers and much for the user: the link map, which finds broken hardware,
// comes first.
#include "measure/profile.hpp"

#include <algorithm>
#include <memory>
#include <utility>

#include "core/format.hpp"
#include "core/units.hpp"
#include "device/topology.hpp"
#include "kernels/kernels.hpp"
#include "measure/algorithms.hpp"
#include "measure/counters.hpp"
#include "measure/device_facts.hpp"
#include "measure/gemm_bench.hpp"
#include "measure/profile_report.hpp"

namespace galvatron::measure {
namespace {

// Shares of what is left of the budget when each part starts; interference takes the rest.
constexpr double links_share = 0.2;
constexpr double collectives_share = 0.3;
constexpr double lateness_share = 0.1;
constexpr int64_t lateness_gemm = 96;  // rows = columns = depth: short beside what lies between two meetings
constexpr double algorithms_share = 0.1;
constexpr double peaks_share = 0.1;
constexpr double layers_share = 0.85;

/// Runs the parts one after the other on one budget.
class Parts {
 public:
  Parts(comm::World& world, device::Device& device, kernels::Kernels& kernels, const Options& options,
        const BudgetHooks& hooks, Measured& measured, core::Log& log)
      : world_(world),
        device_(device),
        kernels_(kernels),
        options_(options),
        measured_(measured),
        earlier_complete_(std::exchange(measured.profile.complete, false)),
        earlier_(std::exchange(measured.profile.coverage, {})),
        log_(log),
        budget_(world, options.budget_seconds, hooks),
        counters_(make_counters()),
        sets_(group_sets(nodes_of_ranks(world))) {}

  void links() {
    begin("links", links_share);
    if (const auto* before = finished("links"); before != nullptr)
      return end(before->done, before->wanted, before->unit, before->done);
    const LinkPaths paths(world_, device_);
    auto map = measure_links(world_, paths.list(), options_.links, budget_);
    store_links(map, paths.list().front().name, hardware());
    hardware().conditions["timer resolution"] = core::format_seconds(map.coverage.timer_resolution);
    measured_.raw["links"] = std::move(map.raw);
    end(map.measured_pairs(), map.pairs(), "pairs");
    for (const auto& line : left_out(map.coverage)) log_.detail("profile: links: " + line);
  }

  void collectives() {
    begin("collectives", collectives_share);
    const auto done = measure_collectives(world_, device_, sets_, options_.collectives, budget_, hardware(),
                                          measured_.raw["collectives"]);
    end(done.measured, done.wanted, "points", done.kept);
  }

  void lateness(core::DType dtype) {
    begin("lateness", lateness_share);
    GemmBench gemm(world_, device_, kernels_, lateness_gemm, dtype);
    const auto done = measure_lateness(
        world_, device_, [&gemm] { gemm.play(); }, sets_, options_.lateness, budget_, hardware(),
        measured_.raw["lateness"]);
    end(done.measured, done.wanted, "points", done.kept);
  }

  /// Before anything is timed that multiplies.
  void algorithms(const Request& request) {
    if (!measure::has_choice(kernels_)) return;
    begin("algorithms", algorithms_share);
    const auto done = measure_algorithms(world_, device_, kernels_, request.layers,
                                         options_.layers.memory_bytes, budget_, measured_.profile.model);
    end(done.measured, done.wanted, "programs");
  }

  void peaks(core::DType dtype) {
    begin("peaks", peaks_share);
    const auto done =
        measure_peaks(world_, device_, kernels_, options_.peaks, budget_, hardware(), measured_.raw["peaks"]);
    if (const auto peak = hardware().gemm_peaks.find(dtype); peak != hardware().gemm_peaks.end())
      hardware().gemm_flops = peak->second;
    end(done.measured, done.wanted, "figures", done.kept);
  }

  void interference() {
    begin("interference", 1.0);
    const auto done = measure_interference(world_, device_, kernels_, sets_, options_.interference, budget_,
                                           hardware(), measured_.raw["interference"]);
    end(done.measured, done.wanted, "rows", done.kept);
  }

  void layers(const Request& request, Outcome& outcome) {
    begin("layers", layers_share);
    auto& model = measured_.profile.model;
    measure_loader(world_, request.read_sample, budget_, model, measured_.raw["loader"] = {});
    const auto done = measure_layers(world_, device_, kernels_, request.layers, options_.layers, budget_,
                                     model, measured_.raw["steps"]);
    measure_counters(world_, device_, kernels_, request.layers, options_.layers.memory_bytes, budget_, model);
    end(done.points, done.wanted_points, "step shapes", done.kept_points);
    for (const auto& line : done.left_out) log_.warning("not measured: " + line);
    outcome.left_out = done.left_out;
  }

  cost::HardwareProfile& hardware() { return measured_.profile.hardware; }
  Budget& budget() { return budget_; }
  const std::vector<std::string>& counted() const { return counted_; }
  std::string counters_missing() const { return counters_->missing(); }

 private:
  /// What an earlier start covered of a part when it had its time: all of it, or what the budget allowed, if
  /// that was anything. A stop cuts short the last part that there is.
  const Coverage* finished(const std::string& part) const {
    const auto found =
        std::find_if(earlier_.begin(), earlier_.end(), [&](const Coverage& c) { return c.phase == part; });
    if (found == earlier_.end()) return nullptr;
    const bool had_its_time = found->done > 0 && (earlier_complete_ || found + 1 != earlier_.end());
    return had_its_time || found->done == found->wanted ? &*found : nullptr;
  }

  void begin(const std::string& part, double share) {
    part_ = part;
    budget_.begin(part, share);
    counters_->start();
  }
  void end(int64_t done, int64_t wanted, const std::string& unit, int64_t kept = 0) {
    counted_.push_back(world_.broadcast(reading_text(part_, counters_->stop()), 0));
    budget_.end(done, wanted, unit, kept);
    measured_.profile.coverage = budget_.coverage();
    const auto& c = budget_.coverage().back();
    log_.info(core::format("profile: {}: {} in {} of {}", c.phase, coverage_line(c),
                           core::format_seconds(c.spent_seconds), core::format_seconds(c.allotted_seconds)));
    log_.detail("profile: " + counted_.back());
    if (c.kept < c.done) options_.keep(measured_);
  }

  comm::World& world_;
  device::Device& device_;
  kernels::Kernels& kernels_;
  const Options& options_;
  Measured& measured_;
  const bool earlier_complete_;
  const std::vector<Coverage> earlier_;
  core::Log& log_;
  Budget budget_;
  std::unique_ptr<Counters> counters_;
  const std::vector<GroupSet> sets_;
  std::string part_;
  std::vector<std::string> counted_;
};

void describe_machine(comm::World& world, const Request& request, const std::string& processor,
                      cost::HardwareProfile& profile) {
  describe_nodes(world, profile);
  profile.threads = request.threads;
  for (const auto& [name, value] : request.conditions) profile.conditions[name] = value;
  profile.conditions["processor"] = processor;
  profile.conditions["clock"] = "steady clock of each rank; only differences on one rank are used";
  const auto cores = world.all_gather(static_cast<int64_t>(device::allowed_cores().size()));
  const auto [least, most] = std::minmax_element(cores.begin(), cores.end());
  profile.conditions["binding"] = *least == *most
                                      ? core::format("each rank may use {} cores", *least)
                                      : core::format("ranks may use {} to {} cores", *least, *most);
}

/// Plays the parts until one of them is stopped.
void play(Parts& parts, const Request& request, ReserveMeter& meter, Outcome& outcome) {
  const auto stopped = [&] { return parts.budget().stopped(); };
  parts.links();
  if (!stopped()) parts.collectives();
  meter.mark("message library");
  if (!stopped()) parts.algorithms(request);
  if (!stopped()) parts.lateness(request.dtype);
  if (!stopped()) parts.peaks(request.dtype);
  if (!stopped()) parts.layers(request, outcome);
  if (!stopped()) parts.interference();
  outcome.stopped = stopped();
}

/// The fragment that measuring starts from, with its fingerprints. Collective.
Measured begin_with(comm::World& world, device::Device& device, const Request& request, Measured earlier,
                    core::Log& log) {
  // Every rank of a profile is of one kind of host, so the first one speaks for all.
  const auto processor = world.broadcast(device::host_topology().processor, 0);
  const auto hardware = hardware_fingerprint(world, device, request);
  const auto steps = steps_fingerprint(world, device, request, processor);
  auto kept = still_valid(earlier.profile, hardware, steps);
  if (!kept.parts.empty())
    log.info("profile: kept from " +
             std::string(earlier.profile.complete ? "an earlier profile: " : "one that was stopped: ") +
             kept.parts);
  Measured out;
  out.profile = std::move(kept.profile);
  if (!kept.parts.empty()) out.raw = std::move(earlier.raw);
  out.profile.fingerprint = fingerprint_of(world, device, request, processor);
  out.profile.hardware.fingerprint = hardware;
  out.profile.model.fingerprint = steps;
  out.profile.model.model_fingerprint = request.model_fingerprint;
  out.profile.model.dtype = request.dtype;
  describe_machine(world, request, processor, out.profile.hardware);
  describe_devices(world, device, out.profile.hardware);
  return out;
}

}  // namespace

Outcome measure_all(comm::World& world, device::Device& device, const Request& request,
                    const Options& options, Measured earlier, ReserveMeter& meter, core::Log& log) {
  meter.mark("program");
  Outcome outcome;
  auto& measured = outcome.measured;
  measured = begin_with(world, device, request, std::move(earlier), log);
  auto hooks = options.hooks;
  hooks.save = [&] {
    log.info("profile: saved as far as it is");
    options.keep(measured);
  };
  hooks.progress = [&log](const std::string& text) { log.info("profile: " + text); };
  // They keep something for every shape they saw, which training does not need: they end with the
  // measurement.
  auto kernels = kernels::make_kernels(device, request.threads);
  Parts parts(world, device, *kernels, options, hooks, measured, log);
  play(parts, request, meter, outcome);
  kernels.reset();
  const bool host = device.kind() == device::DeviceKind::cpu;
  if (host) measure_reserve_units(world, device, measured.profile.hardware);
  meter.mark("what was measured");
  device::give_back_free_memory();
  meter.settle();
  if (host) meter.add("kernels of a plan", measure_plan_kernels(device, request.threads, request.layers));
  store_reserve(world, meter, measured.profile.hardware);
  const auto missing = world.broadcast(parts.counters_missing(), 0);
  measured.profile.hardware.conditions["counters"] = missing.empty() ? "hardware events" : missing;
  outcome.counters = parts.counted();
  measured.profile.complete = !outcome.stopped;
  options.keep(measured);
  return outcome;
}

std::string outcome_report(const Outcome& outcome) {
  auto text = profile_report(outcome.measured.profile);
  for (const auto& line : outcome.left_out) text += "  not measured: " + line + "\n";
  text += "counters of rank 0, part by part\n";
  for (const auto& line : outcome.counters) text += "  " + line + "\n";
  return text;
}

}  // namespace galvatron::measure
