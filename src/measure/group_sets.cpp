// Arithmetic on rank numbers: which groups a plan on these ranks can ask for, and how they lie on nodes.
#include "measure/group_sets.hpp"

#include <algorithm>
#include <map>
#include <utility>

namespace galvatron::measure {

std::vector<int> nodes_of_ranks(const comm::World& world) {
  std::vector<int> out;
  for (int r = 0; r < world.size(); ++r) out.push_back(world.node_of(r));
  return out;
}

std::vector<std::string> hosts_of_nodes(const comm::World& world) {
  std::vector<std::string> hosts;
  for (int node = 0; node < world.nodes(); ++node) hosts.push_back(world.host_of(node));
  return hosts;
}

void describe_nodes(const comm::World& world, cost::HardwareProfile& profile) {
  const auto nodes = nodes_of_ranks(world);
  profile.ranks = world.size();
  profile.nodes = world.nodes();
  profile.rank_nodes.assign(nodes.begin(), nodes.end());
  profile.hosts = hosts_of_nodes(world);
  std::vector<int64_t> counts(static_cast<size_t>(world.nodes()), 0);
  for (const int node : nodes) ++counts[static_cast<size_t>(node)];
  profile.ranks_per_node = *std::max_element(counts.begin(), counts.end());
}

cost::GroupShape shape_of(const std::vector<int>& ranks, const std::vector<int>& node_of) {
  std::map<int, int32_t> per_node;
  for (const int rank : ranks) ++per_node[node_of.at(static_cast<size_t>(rank))];
  cost::GroupShape shape{static_cast<int32_t>(ranks.size()), static_cast<int32_t>(per_node.size()), 0};
  for (const auto& [node, count] : per_node) shape.per_node = std::max(shape.per_node, count);
  return shape;
}

std::vector<GroupSet> group_sets(const std::vector<int>& node_of) {
  const auto world = static_cast<int>(node_of.size());
  std::map<cost::GroupShape, std::vector<std::vector<int>>> by_shape;
  // The first arrangement that yields a shape gives the groups which are measured for it.
  const auto offer = [&](const std::vector<std::vector<int>>& groups) {
    std::map<cost::GroupShape, std::vector<std::vector<int>>> offered;
    for (const auto& group : groups) offered[shape_of(group, node_of)].push_back(group);
    for (auto& [shape, members] : offered) by_shape.try_emplace(shape, std::move(members));
  };
  for (int degree = 2; degree <= world; ++degree) {
    for (int stride = 1; degree * stride <= world; ++stride) {
      if (world % (degree * stride) != 0) continue;
      std::vector<std::vector<int>> groups;
      for (int block = 0; block < world; block += degree * stride) {
        for (int first = 0; first < stride; ++first) {
          auto& group = groups.emplace_back();
          for (int i = 0; i < degree; ++i) group.push_back(block + first + i * stride);
        }
      }
      offer(groups);
    }
  }
  for (int stages = 2; stages <= world; ++stages) {
    if (world % stages != 0) continue;
    const int per_stage = world / stages;
    std::vector<std::vector<int>> pairs;
    for (int r = 0; r < per_stage; ++r) pairs.push_back({r, r + (stages - 1) * per_stage});
    offer(pairs);
  }
  std::vector<GroupSet> out;
  for (auto& [shape, groups] : by_shape) out.push_back({shape, std::move(groups)});
  return out;
}

std::vector<const GroupSet*> largest_sets(const std::vector<GroupSet>& sets) {
  std::vector<const GroupSet*> chosen;
  const auto largest = [&](const auto& counts) {
    const GroupSet* best = nullptr;
    for (const auto& set : sets)
      if (counts(set.shape) && (best == nullptr || set.shape.ranks > best->shape.ranks)) best = &set;
    if (best != nullptr && std::find(chosen.begin(), chosen.end(), best) == chosen.end())
      chosen.push_back(best);
  };
  largest([](const cost::GroupShape& shape) { return shape.nodes == 1; });
  largest([](const cost::GroupShape&) { return true; });
  return chosen;
}

std::map<cost::GroupShape, std::unique_ptr<comm::Communicator>> live_groups(
    comm::World& world, const std::vector<const GroupSet*>& sets, const cost::HardwareProfile& profile) {
  std::map<cost::GroupShape, std::unique_ptr<comm::Communicator>> groups;
  for (const auto* set : sets) {
    const auto& shape = set->shape;
    const auto table = core::table_of(profile.forms, shape.ranks, shape.nodes, shape.per_node);
    auto& mine = groups[shape];
    for (const auto& group : set->groups)
      if (std::find(group.begin(), group.end(), world.rank()) != group.end())
        mine = world.make_communicator(group, comm::TrafficClass::layer, table);
  }
  return groups;
}

}  // namespace galvatron::measure
