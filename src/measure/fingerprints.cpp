// A part is kept when everything that its figures depend on is as it was; a part that may be kept in part
// says so by what it lacks.
#include "measure/fingerprints.hpp"

#include <algorithm>
#include <vector>

#include "core/fingerprint.hpp"
#include "core/format.hpp"

namespace galvatron::measure {

std::string hardware_fingerprint(const comm::World& world, const device::Device& device,
                                 const Request& request) {
  std::string text;
  for (int r = 0; r < world.size(); ++r) text += world.host_of(world.node_of(r)) + "\n";
  return core::fingerprint(
      core::format("{}{}\nthreads {}\n{}\n", text, device.name(), request.threads, request.talk_mark));
}

std::string steps_fingerprint(const comm::World& world, const device::Device& device, const Request& request,
                              const std::string& processor) {
  // How many ranks share a host matters to all of them; the fullest host is the slowest.
  std::vector<int> ranks(static_cast<size_t>(world.nodes()), 0);
  for (int r = 0; r < world.size(); ++r) ++ranks[static_cast<size_t>(world.node_of(r))];
  return core::fingerprint(core::format("{}\n{}\n{} ranks on a host\nthreads {}\n{}\n", processor,
                                        device.name(), *std::max_element(ranks.begin(), ranks.end()),
                                        request.threads, request.compute_mark));
}

std::string fingerprint_of(const comm::World& world, const device::Device& device, const Request& request,
                           const std::string& processor) {
  auto text = hardware_fingerprint(world, device, request) +
              steps_fingerprint(world, device, request, processor) +
              core::format("\n{}\n{}\n", request.model_fingerprint, core::name(request.dtype));
  for (const auto& [layer, context] : request.layers)
    text += core::format("{} {} {} samples, tp index {}\n", layer.kind, spec::to_string(context.strategy),
                         context.samples, context.coordinate.tp);
  return core::fingerprint(text);
}

Kept still_valid(const cost::Profile& earlier, const std::string& hardware, const std::string& steps) {
  Kept kept;
  std::vector<std::string> parts;
  const bool same_steps = earlier.model.fingerprint == steps;
  if (earlier.hardware.fingerprint == hardware) {
    auto& machine = kept.profile.hardware;
    machine = earlier.hardware;
    kept.profile.coverage = earlier.coverage;
    if (!machine.links.empty()) parts.push_back(core::format("{} links", machine.links.size()));
    if (!machine.collectives.empty())
      parts.push_back(core::format("curves of {} collectives", machine.collectives.size()));
    if (!same_steps) {  // these are of kernels as well
      machine.gemm_flops.clear();
      machine.gemm_peaks.clear();
      machine.memory_bytes_per_second.clear();
      machine.interference.clear();
      machine.lateness.clear();
    }
    if (!machine.gemm_peaks.empty()) parts.emplace_back("peaks");
    if (!machine.interference.empty())
      parts.push_back(core::format("{} rows of interference", machine.interference.size()));
    if (!machine.lateness.empty())
      parts.push_back(core::format("lateness of {} groups", machine.lateness.size()));
  }
  if (same_steps) {
    kept.profile.model = earlier.model;
    parts.push_back(core::format("{} signatures of steps", earlier.model.steps.size()));
    // Who is slow is a matter of hosts.
    if (earlier.hardware.fingerprint != hardware) kept.profile.model.rank_seconds.clear();
  }
  kept.parts = core::join(parts, ", ");
  return kept;
}

}  // namespace galvatron::measure
