#pragma once
// How large messages may get, so that each direction of the link map has its turn within the budget. Pure.

#include <cstdint>
#include <span>
#include <vector>

#include "measure/link_bench.hpp"

namespace galvatron::measure {

/// Pairs for a first look at a tier: up to three of them, spread over the machine, that share no node where
/// there are enough nodes. Empty when the tier has no pairs.
Round pilot_pairs(const std::vector<int>& node_of, PairKind kind);

/// Size by size the median of the looks, up to the largest size that most of them reached.
std::vector<PilotPoint> joined_looks(const std::vector<std::vector<PilotPoint>>& looks);

/// What a direction can play with the fewest iterations in `seconds`, going by `look` (times between its
/// sizes are interpolated, beyond the last they grow with the size). Where that ends below 256 KiB, sizes
/// are left out between the first and the last instead, up to four of five: half of a curve is worse than a
/// rough one. However short the time, the sizes reach `least_bytes` or the last one. All of them where nobody
/// looked.
std::vector<int64_t> affordable_sizes(const std::vector<int64_t>& sizes, const std::vector<PilotPoint>& look,
                                      double seconds, int64_t least_bytes);

}  // namespace galvatron::measure
