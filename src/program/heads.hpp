#pragma once
// Which heads a rank computes: query heads are dealt over tp, then over sp (Ulysses); the key/value heads
// follow from the queries that read them, so that grouped-query attention replicates only what several ranks
// need.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "spec/mesh.hpp"
#include "spec/model.hpp"

namespace galvatron::program {

/// Heads [first, first + count) of the model.
struct HeadRange {
  int64_t first = 0, count = 0;
  bool operator==(const HeadRange&) const = default;
};

/// Heads of one tp index, and of each sp index inside it.
struct HeadDeal {
  HeadRange queries, keys;  ///< of the tp index
  bool keys_split = true;   ///< false: every rank of tp holds all K/V weights and computes `keys` of them
  std::vector<HeadRange> part_queries;  ///< one per sp index; every part has the same counts
  std::vector<HeadRange> part_keys;

  int64_t part_query_count() const { return part_queries.front().count; }
  int64_t part_key_count() const { return part_keys.front().count; }
};

/// The strategy must be legal.
HeadDeal deal_heads(const spec::LayerDims& dims, const spec::LayerStrategy& strategy, int32_t tp_index);

/// With g = tp · sp: g divides the heads, and g divides the key/value heads or they divide g (then K/V
/// replicate). Else the reason, with the legal degrees.
std::optional<std::string> heads_illegal(const spec::LayerDims& dims, const spec::LayerStrategy& strategy);

}  // namespace galvatron::program
