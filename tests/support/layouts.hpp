#pragma once
// Every way to split the ranks of a stage, and what a rank then owns: what tests of layouts walk.

#include <cstdint>
#include <vector>

#include "spec/mesh.hpp"
#include "spec/token_layout.hpp"

namespace galvatron::testing {

/// Every tp · sp · cp · dp = ranks.
inline std::vector<spec::LayerStrategy> splits_of(int32_t ranks) {
  std::vector<spec::LayerStrategy> all;
  for (int32_t tp = 1; tp <= ranks; ++tp)
    for (int32_t sp = 1; tp * sp <= ranks; ++sp)
      for (int32_t cp = 1; tp * sp * cp <= ranks; ++cp)
        if (ranks % (tp * sp * cp) == 0)
          all.push_back({.tp = tp, .sp = sp, .cp = cp, .dp = ranks / (tp * sp * cp)});
  return all;
}

/// Sample · positions + position of every row of a rank, from the layout's own lists.
inline std::vector<int64_t> tokens_of(const spec::TokenLayout& layout, int64_t rank) {
  const auto c = spec::MeshShape(layout.strategy, 0).coordinate_of(rank);
  std::vector<int64_t> tokens;
  const auto samples = layout.samples_of(c.dp);
  for (auto sample = samples.begin; sample < samples.end; ++sample)
    for (const auto& range : layout.positions_of(c))
      for (auto position = range.begin; position < range.end; ++position)
        tokens.push_back(sample * layout.positions + position);
  return tokens;
}

}  // namespace galvatron::testing
