#pragma once
// A small model, a made-up machine and a space: what the tests of whole searches begin with.

#include <limits>

#include "search/search.hpp"
#include "support/models.hpp"
#include "support/profiles.hpp"

namespace galvatron::search::test_case {

inline const program::NoWorkspace no_workspace;

struct Case {
  spec::ModelSpec model = test::small_model(1);
  spec::ClusterSpec cluster{1, 2, 0};
  SearchOptions options;
  cost::Profile profile = test::round_profile(1, 2);

  Case(int64_t blocks, int64_t nodes, int64_t per_node, int64_t memory) {
    model = test::small_model(blocks);
    cluster = {nodes, per_node, memory};
    profile = test::round_profile(nodes, per_node);
    options.batches = {4};
  }
  SearchResult run() const {
    core::LocalQueue queue;
    return search(model, cluster, profile, options, no_workspace, queue);
  }
};

/// Bytes per rank that the fastest plan without a limit takes.
inline int64_t roomy_bytes(Case c) {
  c.cluster.memory_bytes = 0;
  return c.run().best.front().candidate.memory_bytes;
}

}  // namespace galvatron::search::test_case
