#pragma once
// A made-up machine for tests of the think rooms: round figures, nothing measured.

#include "cost/profile.hpp"

namespace galvatron::test {

/// 1 GFLOP/s and 1 GB/s per rank; messages 1 us + bytes at 1 GB/s inside a node, 10 us and 0.1 GB/s across.
inline cost::Profile round_profile(int64_t nodes, int64_t ranks_per_node) {
  cost::Profile profile;
  auto& hardware = profile.hardware;
  hardware.nodes = nodes;
  hardware.ranks_per_node = ranks_per_node;
  hardware.ranks = nodes * ranks_per_node;
  hardware.gemm_flops = {1e9};
  hardware.memory_bytes_per_second = {1e9};
  hardware.transfer_same_node.points = {{.x = 0, .seconds = 1e-6}, {.x = 1e6, .seconds = 1e-6 + 1e-3}};
  hardware.transfer_across.points = {{.x = 0, .seconds = 1e-5}, {.x = 1e6, .seconds = 1e-5 + 1e-2}};
  profile.fingerprint = "round figures";
  return profile;
}

}  // namespace galvatron::test
