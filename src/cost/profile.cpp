// Look-ups in what was measured.
#include "cost/profile.hpp"

#include <algorithm>
#include <cmath>
#include <tuple>
#include <utility>

namespace galvatron::cost {
namespace {

double ratio(double a, double b) {
  return std::abs(std::log(std::max(a, 1.0) / std::max(b, 1.0)));
}

/// How many nodes a group lies on tells more about who works for it than how many members it has.
std::tuple<int, double, double> distance(const GroupShape& a, const GroupShape& b) {
  return {a == b ? 0 : 1, ratio(a.nodes, b.nodes), ratio(a.ranks, b.ranks)};
}

}  // namespace

const Interference* interference_of(const HardwareProfile& profile, core::CollectiveKind kind,
                                    const GroupShape& shape, double bytes) {
  const auto away = [&](const Interference& row) {
    return std::pair(distance(row.shape, shape), ratio(row.bytes, bytes));
  };
  const Interference* nearest = nullptr;
  for (const auto& row : profile.interference)
    if (row.kind == kind && (nearest == nullptr || away(row) < away(*nearest))) nearest = &row;
  return nearest;
}

double lateness_of(const HardwareProfile& profile, const GroupShape& shape, double compute_seconds) {
  const auto& curves = profile.lateness;
  const auto nearest = std::min_element(curves.begin(), curves.end(), [&](const auto& a, const auto& b) {
    return distance(a.first, shape) < distance(b.first, shape);
  });
  return nearest == curves.end() ? 0 : nearest->second.at(compute_seconds);
}

int64_t node_of(const HardwareProfile& profile, int64_t rank) {
  const auto i = static_cast<size_t>(rank);
  if (i < profile.rank_nodes.size()) return profile.rank_nodes[i];
  return rank / std::max<int64_t>(profile.ranks_per_node, 1);
}

}  // namespace galvatron::cost
