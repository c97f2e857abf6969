// Look-ups in what was measured.
#include "cost/profile.hpp"

#include <algorithm>
#include <cmath>
#include <tuple>

namespace galvatron::cost {

const Interference* interference_of(const HardwareProfile& profile, core::CollectiveKind kind,
                                    const GroupShape& shape, double bytes) {
  // How many nodes a group lies on tells more about who works for it than how many members it has.
  const auto distance = [&](const Interference& row) {
    const auto ratio = [](double a, double b) {
      return std::abs(std::log(std::max(a, 1.0) / std::max(b, 1.0)));
    };
    return std::tuple(row.shape == shape ? 0 : 1, ratio(row.shape.nodes, shape.nodes),
                      ratio(row.shape.ranks, shape.ranks), ratio(row.bytes, bytes));
  };
  const Interference* nearest = nullptr;
  for (const auto& row : profile.interference)
    if (row.kind == kind && (nearest == nullptr || distance(row) < distance(*nearest))) nearest = &row;
  return nearest;
}

int64_t node_of(const HardwareProfile& profile, int64_t rank) {
  const auto i = static_cast<size_t>(rank);
  if (i < profile.rank_nodes.size()) return profile.rank_nodes[i];
  return rank / std::max<int64_t>(profile.ranks_per_node, 1);
}

}  // namespace galvatron::cost
