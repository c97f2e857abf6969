#pragma once
// The link map: latency and bandwidth of every ordered pair of ranks, alone and while all others talk too.

#include <cstdint>
#include <vector>

#include "comm/communicator.hpp"
#include "comm/world.hpp"
#include "cost/profile.hpp"
#include "device/device.hpp"
#include "measure/budget.hpp"
#include "measure/statistics.hpp"

namespace galvatron::measure {

struct LinkOptions {
  std::vector<int64_t> sizes;      ///< bytes, ascending, the first one ≥ 8; empty = 8 B … 4 MiB, × 4
  int64_t small_iterations = 200;  ///< samples wanted per size
  int64_t large_iterations = 20;   ///< likewise from `large_bytes` on
  int64_t large_bytes = 64 * 1024;
  double seconds_per_point = 0.05;  ///< at most, for one (direction, size)
  uint64_t seed = 1;                ///< of the order of rounds when the time does not suffice for all
};

/// One size of one direction. Seconds are one way: the round trip less half of the 8-byte round trip.
struct LinkPoint {
  int64_t bytes = 0;
  Summary seconds;
};

struct LinkRecord {
  int32_t from = 0, to = 0;
  std::vector<LinkPoint> isolated, loaded;  ///< one per size; empty = not measured
  LatencyBandwidth isolated_fit, loaded_fit;
};

struct LinkMap {
  std::vector<LinkRecord> links;  ///< by (from, to); the same on every rank
  int64_t pairs = 0;              ///< unordered pairs that exist
  int64_t measured_pairs = 0;     ///< in the isolated pass
  int64_t rounds = 0;             ///< of the tournament, played in the loaded pass
  double timer_resolution = 0;    ///< seconds, of rank 0
};

/// Plays the tournament twice within the budget's phase: isolated (no two pairs of a node at once), then
/// loaded (a whole round at once). `all` spans the world. Throws core::AgreedError with LinkError's text on
/// every rank when a message arrives damaged. Collective.
LinkMap measure_links(comm::World& world, comm::Communicator& all, device::Device& device,
                      const LinkOptions& options, Budget& budget);

/// The map as the profile keeps it: links, and the curves of one message per tier (medians over the tier's
/// links, loaded where that pass has seen the link). `node_of[rank]`.
void store_links(const LinkMap& map, const std::vector<int>& node_of, cost::HardwareProfile& profile);

}  // namespace galvatron::measure
