#pragma once
// The link map: latency and bandwidth of every ordered pair of ranks, alone and while all others talk too.

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "comm/world.hpp"
#include "cost/profile.hpp"
#include "measure/budget.hpp"
#include "measure/link_bench.hpp"
#include "measure/link_paths.hpp"
#include "store/profile_file.hpp"

namespace galvatron::measure {

struct LinkOptions {
  std::vector<int64_t> sizes;  ///< bytes, ascending, the first one ≥ 8; empty = 8 B … 64 MiB, × 2
  LinkIterations iterations;
  uint64_t seed = 1;           ///< of the order of what comes last, when the time does not suffice for all
  int64_t most_links = 16384;  ///< ordered pairs per pass: what every rank holds in the end
};

/// The same on every rank, but for `raw`.
struct LinkMap {
  std::vector<cost::Link> links;  ///< by (path, from, to)
  cost::LinkCoverage coverage;
  store::RawTable raw;  ///< every sample; on rank 0 only

  int64_t pairs() const { return coverage.inside + coverage.leaders + coverage.rest; }
  int64_t measured_pairs() const { return coverage.inside_done + coverage.leaders_done + coverage.rest_done; }
};

/// Plays the tournament twice within the budget's phase: isolated (no two pairs of a node at once), then
/// loaded (a whole round at once). Throws core::AgreedError with LinkError's text on every rank when a
/// message arrives damaged. Collective.
LinkMap measure_links(comm::World& world, std::span<const LinkPath> paths, const LinkOptions& options,
                      Budget& budget);

/// The map as the profile keeps it: links, coverage, and the curves of one message per tier (medians over the
/// tier's links on the first path, loaded where that pass has seen the link). The profile knows its nodes.
void store_links(const LinkMap& map, const std::string& first_path, cost::HardwareProfile& profile);

/// A line for each thing that the budget did not reach; none when all was measured.
std::vector<std::string> left_out(const cost::LinkCoverage& coverage);

}  // namespace galvatron::measure
