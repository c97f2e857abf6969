// As many lanes as the smallest node has members: on every node the first members own one lane each, and a
// lane's owners on all nodes form the group that talks across.
#include "comm/mpi/hierarchy.hpp"

#include <algorithm>
#include <map>

#include "comm/mpi/check.hpp"
#include "comm/mpi/transfer.hpp"
#include "core/dtype.hpp"

namespace galvatron::comm::mpi {
namespace {

/// Bytes of a round's data: bounds the scratch memory.
constexpr int64_t round_bytes = 1 << 20;

MPI_Comm split(MPI_Comm comm, int color, int key) {
  MPI_Comm out = MPI_COMM_NULL;
  GALV_MPI(MPI_Comm_split(comm, color, key, &out));
  return out;
}

}  // namespace

Hierarchy::Hierarchy(const Group& group, MPI_Comm comm, const std::vector<int>& node_of,
                     const Limits& limits) {
  std::map<int, std::vector<int>> by_node;
  for (int member = 0; member < group.size(); ++member)
    by_node[node_of[static_cast<size_t>(member)]].push_back(member);
  lanes_ = group.size();
  Group across{group.traffic, {}, 0, group.name + " across"};
  for (const auto& [node, members] : by_node) {
    lanes_ = std::min(lanes_, static_cast<int>(members.size()));
    members_.push_back(members);
  }
  for (int node = 0; node < nodes(); ++node) {
    const auto& members = members_[static_cast<size_t>(node)];
    const auto found = std::find(members.begin(), members.end(), group.index);
    if (found == members.end()) continue;
    node_ = node;
    local_ = static_cast<int>(found - members.begin());
  }
  inside_comm_ = CommHandle(split(comm, node_, group.index), group.name + " inside");
  if (region(node_, 1) > 1) inside_ = std::make_unique<SharedGroup>(inside_comm_.get(), limits.shared_area);
  const MPI_Comm lane = split(comm, has_lane() ? local_ : MPI_UNDEFINED, node_);
  if (!has_lane()) return;
  for (const auto& members : members_)
    across.members.push_back(group.members[static_cast<size_t>(members[static_cast<size_t>(local_)])]);
  across.index = node_;
  CommHandle handle(lane, across.name);
  across_ = std::make_unique<MpiCommunicator>(std::move(across), std::move(handle), limits);
}

int64_t Hierarchy::all_members() const {
  int64_t count = 0;
  for (const auto& members : members_) count += static_cast<int64_t>(members.size());
  return count;
}

int64_t Hierarchy::rows_per_round(int64_t element_bytes) const {
  return std::max<int64_t>(round_bytes / element_bytes / all_members(), 1);
}

void Hierarchy::cut(int64_t rows, int64_t element_bytes) {
  lane_begins_.assign(1, 0);
  slice_begins_.assign(1, 0);
  for (int local = 0; local < region(node_, 1); ++local) {
    int64_t lane = 0;
    for (int node = 0; local < lanes_ && node < nodes(); ++node)
      lane += slice_begin(node, local + 1, rows) - slice_begin(node, local, rows);
    lane_begins_.push_back(lane_begins_.back() + lane);
    slice_begins_.push_back(slice_begin(node_, std::min(local + 1, lanes_), rows));
  }
  node_begins_.assign(1, 0);
  for (int node = 0; has_lane() && node < nodes(); ++node)
    node_begins_.push_back(node_begins_.back() + slice_begin(node, local_ + 1, rows) -
                           slice_begin(node, local_, rows));
  const auto grow = [](std::vector<std::byte>& buffer, int64_t bytes) {
    if (static_cast<int64_t>(buffer.size()) < bytes) buffer.resize(static_cast<size_t>(bytes));
  };
  grow(round_, all_members() * rows * element_bytes);
  grow(region_, region(node_, rows) * element_bytes);
}

template <class Piece>
void Hierarchy::for_each_piece(int64_t rows, Piece piece) const {
  int64_t at = 0;
  for (int lane = 0; lane < lanes_; ++lane) {
    for (int node = 0; node < nodes(); ++node) {
      const auto& members = members_[static_cast<size_t>(node)];
      const auto end = slice_begin(node, lane + 1, rows);
      for (auto in_region = slice_begin(node, lane, rows); in_region < end;) {
        const auto offset = in_region % rows;
        const auto count = std::min(rows - offset, end - in_region);
        piece(members[static_cast<size_t>(in_region / rows)], offset, at, count);
        at += count;
        in_region += count;
      }
    }
  }
}

void Hierarchy::gather_inside(std::byte* data, const std::vector<int64_t>& begins, int64_t element_bytes) {
  if (inside_) inside_->gather_bytes(data, scaled_parts({begins}, element_bytes, byte_begins_));
}

void Hierarchy::all_reduce(const TensorView& data, ReduceOp op) {
  const auto element = core::size_of(data.dtype);
  const auto parts = even_parts(data.elements(), lanes_, region(node_, 1), lane_begins_);
  auto* own = data.data + parts.begin(local_) * element;
  if (inside_) inside_->reduce_parts(data, parts, own, op);
  if (across_) across_->all_reduce(device::vector(own, data.dtype, parts.count(local_)), op);
  gather_inside(data.data, lane_begins_, element);
}

void Hierarchy::reduce_scatter(const TensorView& in, std::byte* out) {
  const auto element = core::size_of(in.dtype);
  const auto block = in.elements() / all_members();
  const auto most = rows_per_round(element);
  for (int64_t begin = 0; begin < block; begin += most) {
    const auto rows = std::min(most, block - begin);
    cut(rows, element);
    for_each_piece(rows, [&](int member, int64_t offset, int64_t at, int64_t count) {
      copy_bytes(round_.data() + at * element, in.data + (member * block + begin + offset) * element,
                 count * element);
    });
    const auto lane = static_cast<size_t>(local_);
    auto* own = round_.data() + lane_begins_[lane] * element;
    const auto all = device::vector(round_.data(), in.dtype, all_members() * rows);
    if (inside_) inside_->reduce_parts(all, {lane_begins_}, own, ReduceOp::sum);
    if (across_) {
      across_->reduce_parts(device::vector(own, in.dtype, node_begins_.back()), {node_begins_},
                            region_.data() + slice_begins_[lane] * element, ReduceOp::sum);
    }
    gather_inside(region_.data(), slice_begins_, element);
    copy_bytes(out + begin * element, region_.data() + local_ * rows * element, rows * element);
  }
}

void Hierarchy::all_gather(const std::byte* in, std::byte* out, int64_t block_bytes) {
  const auto most = rows_per_round(1);
  for (int64_t begin = 0; begin < block_bytes; begin += most) {
    const auto rows = std::min(most, block_bytes - begin);
    cut(rows, 1);
    copy_bytes(region_.data() + local_ * rows, in + begin, rows);
    if (inside_) {
      byte_begins_.clear();
      for (int64_t local = 0; local <= region(node_, 1); ++local) byte_begins_.push_back(local * rows);
      inside_->gather_bytes(region_.data(), {byte_begins_});
    }
    const auto lane = static_cast<size_t>(local_), node = static_cast<size_t>(node_);
    if (across_) {
      auto* own = round_.data() + lane_begins_[lane];
      copy_bytes(own + node_begins_[node], region_.data() + slice_begins_[lane],
                 slice_begins_[lane + 1] - slice_begins_[lane]);
      across_->gather_bytes(own, {node_begins_});
    }
    gather_inside(round_.data(), lane_begins_, 1);
    for_each_piece(rows, [&](int member, int64_t offset, int64_t at, int64_t count) {
      copy_bytes(out + member * block_bytes + begin + offset, round_.data() + at, count);
    });
  }
}

}  // namespace galvatron::comm::mpi
