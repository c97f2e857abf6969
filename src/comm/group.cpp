// Groups by name and the contract of every call, in one place for all backends.
#include "comm/group.hpp"

#include <algorithm>
#include <map>
#include <set>

#include "core/errors.hpp"
#include "core/format.hpp"

namespace galvatron::comm {
namespace {

[[noreturn]] void broken(const Group& group, std::string_view call, const std::string& why) {
  throw core::InternalError(core::format("{} on communicator '{}': {}", call, group.name, why));
}

void check_view(const Group& group, std::string_view call, const TensorView& view) {
  if (!view.contiguous()) {
    broken(group, call,
           core::format("{} x {} view with row stride {} is not contiguous", view.rows, view.cols,
                        view.row_stride));
  }
}

/// `whole` holds one block of the size of `block` for each member.
void check_blocks(const Group& group, std::string_view call, const TensorView& block,
                  const TensorView& whole) {
  check_view(group, call, block);
  check_view(group, call, whole);
  if (block.dtype != whole.dtype) {
    broken(group, call,
           core::format("in and out differ: {} and {}", core::name(block.dtype), core::name(whole.dtype)));
  }
  if (block.elements() * group.size() != whole.elements()) {
    broken(group, call,
           core::format("{} blocks of {} elements are not {} elements", group.size(), block.elements(),
                        whole.elements()));
  }
}

void check_reducible(const Group& group, std::string_view call, const TensorView& view) {
  using core::DType;
  if (view.dtype != DType::f32 && view.dtype != DType::f64 && view.dtype != DType::bf16 &&
      view.dtype != DType::f16) {
    broken(group, call,
           core::format("cannot reduce {}; only f32, f64, bf16 and f16", core::name(view.dtype)));
  }
}

void check_one_side(const Group& group, std::string_view side, std::span<const Block> blocks) {
  for (const auto& block : blocks) {
    check_view(group, "exchange", block.data);
    if (block.peer < 0 || block.peer >= group.size())
      broken(group, "exchange", core::format("{} peer {} of a group of {}", side, block.peer, group.size()));
    if (block_of(blocks, block.peer) != &block)
      broken(group, "exchange", core::format("{} two blocks of peer {}", side, block.peer));
  }
}

}  // namespace

std::string rank_text(const std::vector<int>& ranks) {
  std::vector<std::string> parts;
  for (size_t i = 0; i < ranks.size();) {
    size_t end = i + 1;
    while (end < ranks.size() && ranks[end] == ranks[end - 1] + 1) ++end;
    if (end - i >= 3) {
      parts.push_back(core::format("{}-{}", ranks[i], ranks[end - 1]));
      i = end;
    } else {
      parts.push_back(std::to_string(ranks[i++]));
    }
  }
  return core::join(parts, ",");
}

Group make_group(const std::vector<int>& ranks, TrafficClass traffic, int rank, int world_size) {
  Group group{traffic, ranks, 0, to_string(traffic) + " " + rank_text(ranks)};
  const std::set<int> distinct(ranks.begin(), ranks.end());
  if (distinct.size() != ranks.size())
    throw core::InternalError(core::format("group '{}' names a rank twice", group.name));
  if (!distinct.empty() && (*distinct.begin() < 0 || *distinct.rbegin() >= world_size)) {
    throw core::InternalError(
        core::format("group '{}' names a rank outside the world of {}", group.name, world_size));
  }
  const auto place = std::find(ranks.begin(), ranks.end(), rank);
  if (place == ranks.end())
    throw core::InternalError(core::format("rank {} is not in group '{}'", rank, group.name));
  group.index = static_cast<int>(place - ranks.begin());
  return group;
}

Placement placement_of(const std::vector<int>& node_of) {
  std::map<int, int32_t> members;
  for (const int node : node_of) ++members[node];
  Placement placement{static_cast<int32_t>(members.size()), 0};
  for (const auto& [node, count] : members) placement.per_node = std::max(placement.per_node, count);
  return placement;
}

void check_forms(const Group& group, const std::vector<int>& node_of, const core::FormTable& forms) {
  const auto placement = placement_of(node_of);
  for (const auto& row : forms.rows) {
    const auto fault =
        core::form_fault(row.form, row.kind, group.size(), placement.nodes, placement.per_node);
    if (!fault.empty()) broken(group, core::name_of(row.kind), fault);
  }
}

void check_all_reduce(const Group& group, const TensorView& data) {
  check_view(group, "all_reduce", data);
  check_reducible(group, "all_reduce", data);
}

void check_all_gather(const Group& group, const TensorView& in, const TensorView& out) {
  check_blocks(group, "all_gather", in, out);
}

void check_reduce_scatter(const Group& group, const TensorView& in, const TensorView& out) {
  check_blocks(group, "reduce_scatter", out, in);
  check_reducible(group, "reduce_scatter", in);
}

void check_all_to_all(const Group& group, const TensorView& in, const TensorView& out) {
  check_view(group, "all_to_all", in);
  check_view(group, "all_to_all", out);
  if (in.dtype != out.dtype || in.elements() != out.elements()) {
    broken(group, "all_to_all",
           core::format("in and out differ: {} of {} and {} of {}", in.elements(), core::name(in.dtype),
                        out.elements(), core::name(out.dtype)));
  }
  if (in.elements() % group.size() != 0) {
    broken(group, "all_to_all",
           core::format("{} elements do not divide by {} members", in.elements(), group.size()));
  }
  if (in.data && in.data == out.data && group.size() > 1)
    broken(group, "all_to_all", "in and out are the same memory");
}

void check_rooted(const Group& group, std::string_view call, const TensorView& data, int root) {
  check_view(group, call, data);
  if (root < 0 || root >= group.size())
    broken(group, call, core::format("root {} of a group of {}", root, group.size()));
}

void check_shift(const Group& group, const TensorView& in, const TensorView& out) {
  check_view(group, "shift", in);
  check_view(group, "shift", out);
  if (in.dtype != out.dtype || in.elements() != out.elements()) {
    broken(group, "shift",
           core::format("in and out differ: {} of {} and {} of {}", in.elements(), core::name(in.dtype),
                        out.elements(), core::name(out.dtype)));
  }
  if (in.data && in.data == out.data && group.size() > 1)
    broken(group, "shift", "in and out are the same memory");
}

void check_exchange(const Group& group, std::span<const Block> sends, std::span<const Block> receives) {
  check_one_side(group, "sends", sends);
  check_one_side(group, "receives", receives);
  const auto* to_self = block_of(sends, group.index);
  const auto* from_self = block_of(receives, group.index);
  const auto sent = to_self ? to_self->data.bytes() : 0;
  const auto received = from_self ? from_self->data.bytes() : 0;
  if (sent != received) {
    broken(group, "exchange",
           core::format("sends {} bytes to itself and receives {} from itself", sent, received));
  }
}

void check_message(const Group& group, std::string_view call, const TensorView& data, int peer, int channel) {
  check_view(group, call, data);
  if (peer < 0 || peer >= group.size() || peer == group.index) {
    broken(group, call,
           core::format("peer {} seen from member {} of a group of {}", peer, group.index, group.size()));
  }
  if (channel < 0 || channel >= channels)
    broken(group, call, core::format("channel {} is not one of 0 to {}", channel, channels - 1));
}

const Block* block_of(std::span<const Block> blocks, int peer) {
  for (const auto& block : blocks)
    if (block.peer == peer) return &block;
  return nullptr;
}

}  // namespace galvatron::comm
