// Copies of one size each way, the best of a few: what stands between a device and the host's messages.
#include "measure/device_facts.hpp"

#include <algorithm>
#include <map>
#include <vector>

#include "core/format.hpp"
#include "core/units.hpp"
#include "device/own_memory.hpp"
#include "measure/budget.hpp"

namespace galvatron::measure {
namespace {

constexpr int64_t staged_bytes = int64_t{8} << 20;
constexpr int rounds = 5;

/// Bytes per second down and up, of this rank while its neighbours do the same. Collective.
std::pair<double, double> staging(comm::World& world, device::Device& device) {
  device::Buffer far;
  device::HostBuffer near;
  world.agree("make room for copies", [&] {
    far = device::Buffer(device, staged_bytes);
    near = device::HostBuffer(device, staged_bytes);
  });
  const auto stream = device.make_stream(device::StreamUse::copy);
  const auto best_of = [&](const auto& copy) {
    double best = 0;
    for (int round = 0; round < rounds; ++round) {
      world.barrier();
      const double begin = now_seconds();
      copy();
      stream->synchronize();
      best = std::max(best, static_cast<double>(staged_bytes) / std::max(now_seconds() - begin, 1e-9));
    }
    return best;
  };
  const double down = best_of([&] { device.download(*stream, far.data(), near.span()); });
  const double up = best_of([&] { device.upload(*stream, near.span(), far.data()); });
  return {down, up};
}

/// "node0: rank 0 reaches 1 2 3, …": the ranks whose devices each rank's device reaches by itself; short
/// where all of a node reach each other.
std::string peer_text(comm::World& world, const device::Device& device, const device::DeviceFacts& facts) {
  const auto addresses = world.all_gather(device.identity());
  const auto peers = world.all_gather(core::join(facts.peers, "\n") + "\n");
  std::vector<std::string> nodes;
  for (int node = 0; node < world.nodes(); ++node) {
    std::vector<std::string> lines;
    size_t members = 0, pairs = 0;
    for (int a = 0; a < world.size(); ++a) {
      if (world.node_of(a) != node) continue;
      ++members;
      std::string reached;
      for (int b = 0; b < world.size(); ++b) {
        const auto& address = addresses[static_cast<size_t>(b)];
        if (a == b || world.node_of(b) != node || address.empty()) continue;
        if (peers[static_cast<size_t>(a)].find(address + "\n") == std::string::npos) continue;
        ++pairs;
        reached += core::format(" {}", b);
      }
      lines.push_back(core::format("rank {} reaches{}", a, reached.empty() ? " nobody" : reached));
    }
    if (members == 1) lines = {"one rank"};
    if (members > 1 && pairs == members * (members - 1)) lines = {"all reach each other"};
    nodes.push_back(core::format("{}: {}", world.host_of(node), core::join(lines, ", ")));
  }
  return core::join(nodes, "; ");
}

}  // namespace

void describe_devices(comm::World& world, device::Device& device, cost::HardwareProfile& profile) {
  const auto* own = device::own_memory(device);
  if (own == nullptr) return;
  device::DeviceFacts facts;
  world.agree("look at the device", [&] { facts = own->facts(); });
  auto& conditions = profile.conditions;
  conditions["device"] = world.broadcast(device.name(), 0);
  conditions["peer access"] = peer_text(world, device, facts);
  const auto [down, up] = staging(world, device);
  double slowest[] = {-down, -up};
  world.all_reduce(slowest, comm::ReduceOp::max);
  conditions["staging"] = core::format("{}/s to the host, {}/s to the device, slowest rank",
                                       core::format_bytes(static_cast<int64_t>(-slowest[0])),
                                       core::format_bytes(static_cast<int64_t>(-slowest[1])));
  double clocks[] = {-facts.clock_hz, -facts.memory_clock_hz};
  world.all_reduce(clocks, comm::ReduceOp::max);
  conditions["device clocks"] = clocks[0] < 0 ? core::format("{:.0f} MHz, memory {:.0f} MHz, slowest rank",
                                                             -clocks[0] / 1e6, -clocks[1] / 1e6)
                                              : std::string("not to be read");
}

}  // namespace galvatron::measure
