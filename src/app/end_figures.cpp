// Sums over nodes and ranks. A node that does not tell makes the sum worthless, so it is not given then.
#include "app/end_figures.hpp"

#include <map>
#include <sstream>

#include "app/events.hpp"
#include "core/format.hpp"
#include "device/own_memory.hpp"

namespace galvatron::app {
namespace {

/// "name=value" per reading, and back.
std::string to_text(const std::vector<measure::Reading>& readings) {
  std::string out;
  for (const auto& reading : readings) out += core::format("{}={:.17g}\n", reading.name, reading.value);
  return out;
}

}  // namespace

CostMeter::CostMeter(Job& job) : job_(job), counters_(measure::make_counters()) {
  job.world().agree("look at the device", [&] { device_joules_ = device_joules(); });
  if (job.world().local_rank() == 0) energy_.emplace();
  counters_->start();
}

double CostMeter::device_joules() const {
  const auto* own = device::own_memory(job_.device());
  return own == nullptr ? 0.0 : own->facts().energy_joules;
}

void CostMeter::report(double tokens) {
  report_device_energy(tokens);
  report_energy(tokens);
  report_counters();
}

void CostMeter::report_energy(double tokens) {
  auto& world = job_.world();
  double joules = energy_ ? energy_->joules() : 0;
  world.all_reduce(std::span(&joules, 1), core::ReduceOp::sum);
  std::string missing;
  const auto reasons = world.all_gather(energy_ ? energy_->missing() : std::string());
  for (size_t r = 0; r < reasons.size() && missing.empty(); ++r)
    if (!reasons[r].empty())
      missing = core::format("{}: {}", world.host_of(world.node_of(static_cast<int>(r))), reasons[r]);
  const auto text = missing.empty()
                        ? core::format("{:.1f} J by the processors of {} nodes, {:.3g} J per token", joules,
                                       world.nodes(), tokens > 0 ? joules / tokens : 0.0)
                        : core::format("n/a: {}", missing);
  job_.log().info("energy: " + text);
  note(job_, "energy", text);
  if (missing.empty()) job_.context().result.set("energy_j", joules);
}

void CostMeter::report_device_energy(double tokens) {
  if (device::own_memory(job_.device()) == nullptr) return;
  double now = 0;
  job_.world().agree("look at the device", [&] { now = device_joules(); });
  double sums[] = {now - device_joules_, device_joules_ > 0 ? 0.0 : 1.0};  // those that do not tell
  job_.world().all_reduce(sums, core::ReduceOp::sum);
  const auto text = sums[1] > 0 ? core::format("n/a: {:.0f} devices do not tell", sums[1])
                                : core::format("{:.1f} J by the devices, {:.3g} J per token", sums[0],
                                               tokens > 0 ? sums[0] / tokens : 0.0);
  job_.log().info("energy: " + text);
  note(job_, "energy", text);
  if (sums[1] == 0) job_.context().result.set("device_energy_j", sums[0]);
}

void CostMeter::report_counters() {
  const auto all = job_.world().all_gather(to_text(counters_->stop()));
  std::map<std::string, double> sums;
  std::vector<std::string> order;
  for (const auto& text : all) {
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
      const auto sign = line.rfind('=');
      const auto name = line.substr(0, sign);
      if (sums.emplace(name, 0.0).second) order.push_back(name);
      sums[name] += std::atof(line.c_str() + sign + 1);
    }
  }
  std::vector<std::string> parts;
  for (const auto& name : order) parts.push_back(core::format("{} {:.4g}", name, sums[name]));
  auto text = core::join(parts, ", ");
  if (const auto missing = counters_->missing(); !missing.empty()) text += core::format("; {}", missing);
  job_.log().info("counters, all ranks: " + text);
  note(job_, "counters", text);
}

}  // namespace galvatron::app
