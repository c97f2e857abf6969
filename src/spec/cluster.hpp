#pragma once
// The machine as numbers: nodes × ranks per node × memory per rank. Never probes anything.

#include <cstdint>

namespace galvatron::spec {

struct ClusterSpec {
  int64_t nodes = 1;
  int64_t ranks_per_node = 1;
  int64_t memory_bytes = 0;  ///< per rank

  int64_t ranks() const { return nodes * ranks_per_node; }
  int64_t node_of(int64_t rank) const { return rank / ranks_per_node; }
};

}  // namespace galvatron::spec
