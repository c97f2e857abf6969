// How long the link map of this job takes and how well it repeats. Run under mpirun, one rank per device:
//   mpirun -n 4 bench_measure_profile [repetitions] [budget seconds of each] [largest message in bytes]
// Prints the last map and ends with one line for scripts: pairs measured alone, rounds of all at once,
// seconds of one map, and by how much the medians of the same size (64 KiB and more) of the same link differ
// when the map is measured again: the median over all of them, and how many per cent of them agree within 10
// %.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "comm/guard.hpp"
#include "comm/world.hpp"
#include "device/device.hpp"
#include "measure/group_sets.hpp"
#include "measure/link_report.hpp"
#include "measure/links.hpp"
#include "measure/report.hpp"
#include "measure/sampler.hpp"
#include "measure/statistics.hpp"

namespace galvatron::measure {
namespace {

constexpr double large_bytes = 65536;  // smaller messages are as noisy as the machine
constexpr double agreement = 0.10;

/// Medians of one size of one link in one pass, one per repetition.
using Medians = std::map<std::tuple<int32_t, int32_t, std::string, double>, std::vector<double>>;

void note(const cost::Link& link, const char* pass, const cost::Curve& curve, Medians& medians) {
  for (const auto& p : curve.points)
    if (p.x >= large_bytes) medians[{link.from, link.to, pass, p.x}].push_back(p.seconds);
}

/// Largest deviation of a repetition from the first one, relative, for each size of each link.
std::vector<double> deviations_of(const Medians& medians) {
  std::vector<double> out;
  for (const auto& [key, values] : medians) {
    if (values.size() < 2) continue;
    double worst = 0;
    for (const double v : values) worst = std::max(worst, std::abs(v / values.front() - 1));
    out.push_back(worst);
  }
  return out;
}

void run(comm::World& world, device::Device& device, int repetitions, double seconds, int64_t largest) {
  const LinkPaths paths(world, device);
  LinkOptions options;
  options.sizes = geometric_sizes(8, largest, 2);
  Medians medians;
  cost::HardwareProfile profile;
  describe_nodes(world, profile);
  LinkMap map;
  double spent = 0;
  for (int i = 0; i < repetitions; ++i) {
    Budget budget(world, seconds);
    budget.begin("links", 1.0);
    map = measure_links(world, paths.list(), options, budget);
    budget.end(map.measured_pairs(), map.pairs(), "pairs");
    spent += budget.coverage().back().spent_seconds / repetitions;
    store_links(map, paths.list().front().name, profile);
    for (const auto& link : profile.links) {
      note(link, "isolated", link.isolated, medians);
      note(link, "loaded", link.loaded, medians);
    }
  }
  if (world.rank() != 0) return;
  std::printf("%s%s%s%s", link_map_text(profile).c_str(), tier_table(profile).c_str(),
              link_coverage_text(profile).c_str(), verdict_text(profile).c_str());
  const auto deviations = deviations_of(medians);
  const auto agree =
      std::count_if(deviations.begin(), deviations.end(), [](double d) { return d <= agreement; });
  const auto points = std::max<int64_t>(static_cast<int64_t>(deviations.size()), 1);
  std::printf(
      "RESULT bench=profile pairs=%lld rounds=%lld seconds=%.3f repeat_median_dev_pct=%.2f "
      "repeat_points=%lld repeat_within_10_pct=%.1f\n",
      static_cast<long long>(map.measured_pairs()), static_cast<long long>(map.coverage.rounds_done), spent,
      deviations.empty() ? 0.0 : 100 * median_of(deviations), static_cast<long long>(deviations.size()),
      100 * static_cast<double>(agree) / static_cast<double>(points));
}

}  // namespace
}  // namespace galvatron::measure

int main(int argc, char** argv) {
  const galvatron::comm::Guard guard;
  const auto device = galvatron::device::make_device(galvatron::device::DeviceKind::cpu);
  const auto world = galvatron::comm::make_mpi_world(*device);
  const int repetitions = argc > 1 ? std::max(1, std::atoi(argv[1])) : 2;
  const double seconds = argc > 2 ? std::strtod(argv[2], nullptr) : 12.0;
  const int64_t largest = argc > 3 ? std::max(8LL, std::atoll(argv[3])) : int64_t{64} << 20;
  galvatron::measure::run(*world, *device, repetitions, seconds, largest);
}
