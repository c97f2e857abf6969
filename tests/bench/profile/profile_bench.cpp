// How long the link map of this job takes and how well it repeats. Run under mpirun, one rank per device:
//   mpirun -n 4 bench_measure_profile [repetitions] [budget seconds of each]
// Prints the map and ends with one line for scripts.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <utility>
#include <vector>

#include "comm/guard.hpp"
#include "comm/world.hpp"
#include "device/device.hpp"
#include "measure/links.hpp"
#include "measure/report.hpp"
#include "measure/statistics.hpp"

namespace galvatron::measure {
namespace {

using Bandwidths = std::map<std::pair<int32_t, int32_t>, std::vector<double>>;

/// Median over links of the largest deviation of a repetition from the link's median, in per cent.
double repeat_deviation(const Bandwidths& bandwidths) {
  std::vector<double> deviations;
  for (const auto& [link, values] : bandwidths) {
    const double median = median_of(values);
    double worst = 0;
    for (const double v : values) worst = std::max(worst, std::abs(v - median) / median);
    deviations.push_back(100 * worst);
  }
  return deviations.empty() ? 0 : median_of(deviations);
}

void run(comm::World& world, device::Device& device, int repetitions, double seconds) {
  std::vector<int> everyone;
  std::vector<int> nodes;
  for (int r = 0; r < world.size(); ++r) {
    everyone.push_back(r);
    nodes.push_back(world.node_of(r));
  }
  const auto all = world.make_communicator(everyone, comm::TrafficClass::pipeline);
  Bandwidths bandwidths;
  cost::HardwareProfile profile;
  profile.ranks = world.size();
  profile.nodes = world.nodes();
  profile.ranks_per_node = std::count(nodes.begin(), nodes.end(), 0);
  for (int n = 0; n < world.nodes(); ++n) profile.hosts.push_back(world.host_of(n));
  LinkMap map;
  double spent = 0;
  for (int i = 0; i < repetitions; ++i) {
    Budget budget(world, seconds);
    budget.begin("links", 1.0);
    map = measure_links(world, *all, device, {}, budget);
    budget.end(map.measured_pairs, map.pairs, "pairs");
    spent += budget.coverage().back().spent_seconds / repetitions;
    store_links(map, nodes, profile);
    for (const auto& link : profile.links) bandwidths[{link.from, link.to}].push_back(link.bytes_per_second);
  }
  if (world.rank() != 0) return;
  std::printf("%s%s%s", link_map_text(profile).c_str(), tier_table(profile).c_str(),
              verdict_text(profile).c_str());
  std::printf("RESULT bench=profile pairs=%lld rounds=%lld seconds=%.3f repeat_median_dev_pct=%.2f\n",
              static_cast<long long>(map.measured_pairs), static_cast<long long>(map.rounds), spent,
              repeat_deviation(bandwidths));
}

}  // namespace
}  // namespace galvatron::measure

int main(int argc, char** argv) {
  const galvatron::comm::Guard guard;
  const auto device = galvatron::device::make_device(galvatron::device::DeviceKind::cpu);
  const auto world = galvatron::comm::make_mpi_world(*device);
  const int repetitions = argc > 1 ? std::max(1, std::atoi(argv[1])) : 3;
  const double seconds = argc > 2 ? std::strtod(argv[2], nullptr) : 10.0;
  galvatron::measure::run(*world, *device, repetitions, seconds);
}
