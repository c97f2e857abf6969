#pragma once
// What every backend's communicator knows about itself, and the checks that every backend makes before it
// moves a byte. They are here once, so that a program which the dry backend accepts is one that the real
// backends accept.

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "comm/communicator.hpp"
#include "comm/world.hpp"
#include "core/form.hpp"

namespace galvatron::comm {

/// An ordered set of world ranks and this rank's place in it.
struct Group {
  TrafficClass traffic = TrafficClass::layer;
  std::vector<int> members;
  int index = 0;
  std::string name;

  int size() const { return static_cast<int>(members.size()); }
};

/// "0,1", "0-3", "0-3,8": ranks as people write them; runs of three and more are shortened.
std::string rank_text(const std::vector<int>& ranks);

/// Throws core::InternalError when a rank is outside the world or named twice, or when `rank` is not a
/// member.
Group make_group(const std::vector<int>& ranks, TrafficClass traffic, int rank, int world_size);

/// How many nodes a group lies on, and the most members on one of them.
struct Placement {
  int32_t nodes = 1, per_node = 1;
};
/// `node_of[i]` is the node of member i.
Placement placement_of(const std::vector<int>& node_of);
/// Throws core::InternalError naming the group and the first row whose form this group cannot have.
void check_forms(const Group& group, const std::vector<int>& node_of, const core::FormTable& forms);

// Each throws core::InternalError naming the group, the call and the sizes when the operands break the
// contract of Communicator.
void check_all_reduce(const Group& group, const TensorView& data);
void check_all_gather(const Group& group, const TensorView& in, const TensorView& out);
void check_reduce_scatter(const Group& group, const TensorView& in, const TensorView& out);
void check_all_to_all(const Group& group, const TensorView& in, const TensorView& out);
void check_rooted(const Group& group, std::string_view call, const TensorView& data, int root);
void check_shift(const Group& group, const TensorView& in, const TensorView& out);
void check_exchange(const Group& group, std::span<const Block> sends, std::span<const Block> receives);
/// `peer` must be another member.
void check_message(const Group& group, std::string_view call, const TensorView& data, int peer, int channel);

/// The block of `peer`, or null.
const Block* block_of(std::span<const Block> blocks, int peer);

}  // namespace galvatron::comm
