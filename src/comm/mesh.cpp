// Making communicators in the same order everywhere, by construction: the list is the order.
#include "comm/mesh.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "comm/group.hpp"
#include "core/errors.hpp"
#include "core/fingerprint.hpp"
#include "core/format.hpp"

namespace galvatron::comm {
namespace {

/// Ranks with different lists would wait for each other for ever, so a different list is found before the
/// first group is made.
void check_same_list(World& world, const std::vector<MeshGroup>& groups) {
  std::string text;
  for (const auto& group : groups) text += to_string(group.traffic) + " " + rank_text(group.ranks) + "\n";
  const auto marks = world.all_gather(static_cast<int64_t>(core::fnv1a(text)));
  for (size_t r = 1; r < marks.size(); ++r) {
    if (marks[r] != marks[0])
      throw core::InternalError(core::format("rank {} lists other mesh groups than rank 0", r));
  }
}

bool has(const std::vector<int>& ranks, int rank) {
  return std::find(ranks.begin(), ranks.end(), rank) != ranks.end();
}

}  // namespace

DeviceMesh::DeviceMesh(World& world, const std::vector<MeshGroup>& groups, device::Stream* compute,
                       std::vector<core::FormChoice> forms)
    : world_(world), compute_(compute), forms_(std::move(forms)) {
  check_same_list(world, groups);
  // Every rank checks every group, so that a malformed one fails everywhere and not only among its members.
  for (const auto& group : groups) {
    GALV_ASSERT(!group.ranks.empty());
    make_group(group.ranks, group.traffic, group.ranks.front(), world.size());
  }
  for (const auto& group : groups) {
    if (has(group.ranks, world.rank()) && !communicators_.contains(group))
      communicators_.emplace(group, make(group));
  }
}

std::unique_ptr<Communicator> DeviceMesh::make(const MeshGroup& group) {
  core::FormTable table;
  if (group.traffic != TrafficClass::pipeline && !forms_.empty()) {
    std::vector<int> nodes;
    for (const int rank : group.ranks) nodes.push_back(world_.node_of(rank));
    const auto placement = placement_of(nodes);
    table =
        core::table_of(forms_, static_cast<int32_t>(group.ranks.size()), placement.nodes, placement.per_node);
  }
  auto communicator = world_.make_communicator(group.ranks, group.traffic, table);
  if (compute_ != nullptr) communicator->attach(*compute_);
  return communicator;
}

Communicator& DeviceMesh::get(const std::vector<int>& ranks, TrafficClass traffic) {
  MeshGroup key{traffic, ranks};
  auto found = communicators_.find(key);
  if (found == communicators_.end() && ranks.size() == 1 && ranks.front() == world_.rank())
    found = communicators_.emplace(key, make(key)).first;
  if (found == communicators_.end()) {
    throw core::InternalError(core::format("rank {} has no communicator '{} {}' in its mesh", world_.rank(),
                                           to_string(traffic), rank_text(ranks)));
  }
  return *found->second;
}

}  // namespace galvatron::comm
