#pragma once
// Which groups of ranks collectives are measured for: one set of disjoint groups per shape.

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "comm/world.hpp"
#include "cost/profile.hpp"

namespace galvatron::measure {

/// Disjoint groups of one shape. Ranks in none of them wait.
struct GroupSet {
  cost::GroupShape shape;
  std::vector<std::vector<int>> groups;
};

/// The node of every rank.
std::vector<int> nodes_of_ranks(const comm::World& world);

/// The host of every node.
std::vector<std::string> hosts_of_nodes(const comm::World& world);

/// Says in the profile how many ranks there are and how they lie on which hosts.
void describe_nodes(const comm::World& world, cost::HardwareProfile& profile);

/// Members, nodes they are on, and the most of them on one node. `node_of[rank]`.
cost::GroupShape shape_of(const std::vector<int>& ranks, const std::vector<int>& node_of);

/// One set for each shape that a plan on these ranks can ask for: groups of `degree` ranks, `stride` apart,
/// for all degree · stride that divide the world, and the pairs of a first and a last pipeline stage. The
/// same list on every rank, by shape.
std::vector<GroupSet> group_sets(const std::vector<int>& node_of);

/// Where not every set has its turn: of those on one node the largest, and the largest of all.
std::vector<const GroupSet*> largest_sets(const std::vector<GroupSet>& sets);

/// This rank's group of each of the sets, none where it is in none, with the forms of `profile.forms`.
/// Collective.
std::map<cost::GroupShape, std::unique_ptr<comm::Communicator>> live_groups(
    comm::World& world, const std::vector<const GroupSet*>& sets, const cost::HardwareProfile& profile);

}  // namespace galvatron::measure
