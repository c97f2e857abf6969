// Ring collectives over n ranks on N nodes with p on each: pieces go round across nodes first (each rank with
// its peers of the same place), then inside each node; a reduction runs the same way backwards. With one node
// or one rank per node this is the ordinary ring (Thakur, Rabenseifner, Gropp, IJHPCA 2005).
#include "cost/hardware_price.hpp"

#include <algorithm>
#include <cmath>
#include <map>

#include "core/errors.hpp"
#include "core/format.hpp"

namespace galvatron::cost {
namespace {

double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<int64_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

double least(const std::vector<double>& values, const char* what) {
  if (values.empty())
    throw core::UserError(core::format("the profile has no {}: measure it or name it in profile.file", what));
  return *std::min_element(values.begin(), values.end());
}

double rounds_of_tree(int32_t members) {
  return std::ceil(std::log2(static_cast<double>(std::max(members, 1))));
}

}  // namespace

GroupShape shape_of(const std::vector<int>& ranks, int64_t ranks_per_node) {
  std::map<int64_t, int32_t> members;
  for (const int rank : ranks) ++members[rank / ranks_per_node];
  GroupShape shape{static_cast<int32_t>(ranks.size()), static_cast<int32_t>(members.size()), 0};
  for (const auto& [node, count] : members) shape.per_node = std::max(shape.per_node, count);
  return shape;
}

HardwarePrice::HardwarePrice(const HardwareProfile& profile) : profile_(profile) {
  std::vector<double> latency[2], bandwidth[2];
  for (const Link& link : profile.links) {
    const bool same = node_of(profile, link.from) == node_of(profile, link.to);
    const auto tier = static_cast<size_t>(same ? Tier::same_node : Tier::across);
    latency[tier].push_back(link.latency_seconds);
    bandwidth[tier].push_back(link.loaded_bytes_per_second > 0 ? link.loaded_bytes_per_second
                                                               : link.bytes_per_second);
  }
  for (size_t tier = 0; tier < 2; ++tier) {
    if (latency[tier].empty()) continue;
    latency_[tier] = median(latency[tier]);
    bandwidth_[tier] = median(bandwidth[tier]);
  }
}

double HardwarePrice::message(Tier tier, double bytes) const {
  const Curve& curve = tier == Tier::same_node ? profile_.transfer_same_node : profile_.transfer_across;
  if (!curve.points.empty()) return curve.at(bytes);
  const auto i = static_cast<size_t>(tier);
  if (latency_[i] >= 0 && bandwidth_[i] > 0) return latency_[i] + bytes / bandwidth_[i];
  throw core::UserError(core::format(
      "the profile knows no messages {}: measure them there or name a cluster's figures in profile.file",
      tier == Tier::same_node ? "inside a node" : "across nodes"));
}

Seconds HardwarePrice::transfer(Tier tier, double bytes) const {
  const Curve& curve = tier == Tier::same_node ? profile_.transfer_same_node : profile_.transfer_across;
  const double seconds = message(tier, bytes);
  return curve.measured(bytes) && !profile_.nominal ? measured_seconds(seconds) : modelled_seconds(seconds);
}

Seconds HardwarePrice::collective(core::CollectiveKind kind, const GroupShape& shape, double bytes) const {
  if (shape.ranks <= 1) return {};
  const auto found = profile_.collectives.find({kind, shape});
  if (found != profile_.collectives.end() && !found->second.points.empty()) {
    const double seconds = found->second.at(bytes);
    // Below the smallest size latency rules, and that was measured.
    const bool known = bytes <= found->second.points.back().x && !profile_.nominal;
    return known ? measured_seconds(seconds) : modelled_seconds(seconds);
  }
  return modelled_seconds(modelled(kind, shape, bytes));
}

Seconds HardwarePrice::small_reduction(const GroupShape& shape, double bytes) const {
  if (profile_.collectives.contains({core::CollectiveKind::all_reduce, shape}))
    return collective(core::CollectiveKind::all_reduce, shape, bytes);
  return modelled_seconds(modelled(core::CollectiveKind::broadcast, shape, bytes));
}

double HardwarePrice::ring_pass(const GroupShape& shape, double bytes) const {
  double seconds = 0;
  if (shape.nodes > 1) seconds += (shape.nodes - 1) * message(Tier::across, bytes / shape.ranks);
  if (shape.per_node > 1) seconds += (shape.per_node - 1) * message(Tier::same_node, bytes / shape.per_node);
  return seconds;
}

double HardwarePrice::modelled(core::CollectiveKind kind, const GroupShape& shape, double bytes) const {
  switch (kind) {
    case core::CollectiveKind::all_gather:
    case core::CollectiveKind::reduce_scatter:
      return ring_pass(shape, bytes);
    case core::CollectiveKind::all_reduce:
      return 2 * ring_pass(shape, bytes);
    case core::CollectiveKind::all_to_all: {
      const double piece = bytes / shape.ranks / shape.ranks;
      const int32_t inside = shape.per_node - 1, outside = shape.ranks - shape.per_node;
      return (inside > 0 ? inside * message(Tier::same_node, piece) : 0) +
             (outside > 0 ? outside * message(Tier::across, piece) : 0);
    }
    case core::CollectiveKind::shift:
      return message(shape.nodes > 1 ? Tier::across : Tier::same_node, bytes);
    case core::CollectiveKind::exchange:
      return modelled(core::CollectiveKind::all_to_all, shape, bytes);
    case core::CollectiveKind::broadcast:
      return (shape.nodes > 1 ? rounds_of_tree(shape.nodes) * message(Tier::across, bytes) : 0) +
             (shape.per_node > 1 ? rounds_of_tree(shape.per_node) * message(Tier::same_node, bytes) : 0);
  }
  throw core::InternalError("a collective without a price");
}

double HardwarePrice::gemm_flops() const {
  return least(profile_.gemm_flops, "speed of matrix products");
}

double HardwarePrice::memory_bytes_per_second() const {
  return least(profile_.memory_bytes_per_second, "memory bandwidth");
}

}  // namespace galvatron::cost
