#pragma once
// A machine made of numbers, for the tests of reports and verdicts.

#include <string>

#include "core/errors.hpp"
#include "cost/profile.hpp"

namespace galvatron::measure {

/// Links of 20 GB/s and 1 us inside a node, 1 GB/s and 30 us across, a little uneven.
inline cost::HardwareProfile pretended_machine(int nodes, int per_node) {
  cost::HardwareProfile p;
  p.ranks = int64_t{nodes} * per_node;
  p.nodes = nodes;
  p.ranks_per_node = per_node;
  for (int n = 0; n < nodes; ++n) p.hosts.push_back("host" + std::to_string(n));
  for (int32_t from = 0; from < p.ranks; ++from) {
    for (int32_t to = 0; to < p.ranks; ++to) {
      if (from == to) continue;
      const double uneven = 1.0 + 0.01 * ((3 * from + 5 * to) % 7);
      const bool same = from / per_node == to / per_node;
      auto& link = p.links.emplace_back();
      link.from = from;
      link.to = to;
      link.latency_seconds = (same ? 1e-6 : 3e-5) * uneven;
      link.bytes_per_second = (same ? 2e10 : 1e9) * uneven;
      link.loaded_bytes_per_second = (same ? 1e10 : 5e8) * uneven;
    }
  }
  for (int64_t r = 0; r < p.ranks; ++r) {
    p.gemm_flops.push_back(1e11 * (1.0 + 0.01 * static_cast<double>(r % 3)));
    p.memory_bytes_per_second.push_back(1.5e10);
  }
  return p;
}

inline cost::Link& link_of(cost::HardwareProfile& profile, int32_t from, int32_t to) {
  for (auto& link : profile.links)
    if (link.from == from && link.to == to) return link;
  throw core::InternalError("no such link");
}

}  // namespace galvatron::measure
