#pragma once
// Collectives of groups that span nodes: inside the nodes first, so that every byte crosses the network once
// per node and not once per member, then across, then inside again. Nodes may have different numbers of
// members.
//
// Sums are taken per node in member order and then over nodes in their order. All members get the same bits,
// every time, for the same group on the same nodes; they may differ from those of the direct form, and the
// 16-bit types are rounded once per level.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "comm/communicator.hpp"
#include "comm/mpi/comm_handle.hpp"
#include "comm/mpi/mpi_communicator.hpp"
#include "comm/mpi/parts.hpp"
#include "comm/mpi/shared_group.hpp"

namespace galvatron::comm::mpi {

class Hierarchy {
 public:
  /// Collective over `comm`, which has the members of `group` in order. `node_of[i]` is member i's node; some
  /// node has two members, and there are two nodes.
  Hierarchy(const Group& group, MPI_Comm comm, const std::vector<int>& node_of, const Limits& limits);

  void all_reduce(const TensorView& data, ReduceOp op);
  void reduce_scatter(const TensorView& in, std::byte* out);
  void all_gather(const std::byte* in, std::byte* out, int64_t block_bytes);

 private:
  // A round is as many rows (elements) of every member's block as fit the scratch memory. Its data lie by
  // lane, then by node, so that a lane's part is contiguous and a node's piece in it too; a node's region is
  // the rows of its members, cut evenly among the lanes.

  int nodes() const { return static_cast<int>(members_.size()); }
  bool has_lane() const { return local_ < lanes_; }
  int64_t region(int node, int64_t rows) const {
    return static_cast<int64_t>(members_[static_cast<size_t>(node)].size()) * rows;
  }
  int64_t slice_begin(int node, int lane, int64_t rows) const { return region(node, rows) * lane / lanes_; }
  int64_t all_members() const;
  int64_t rows_per_round(int64_t element_bytes) const;
  /// Fills the three lists of begins, in elements, and makes room for the round's data.
  void cut(int64_t rows, int64_t element_bytes);
  /// Calls `piece(member, offset in its rows, offset in the round's data, elements)` for all data.
  template <class Piece>
  void for_each_piece(int64_t rows, Piece piece) const;
  void gather_inside(std::byte* data, const std::vector<int64_t>& begins, int64_t element_bytes);

  std::vector<std::vector<int>> members_;  // by node, in member order
  int node_ = 0;                           // this member's node, 0 … nodes − 1
  int local_ = 0;                          // and place on it
  int lanes_ = 1;                          // members of the smallest node: as many owners on each node
  CommHandle inside_comm_;
  std::unique_ptr<SharedGroup> inside_;      // none for the only member of a node
  std::unique_ptr<MpiCommunicator> across_;  // of the owners of one lane, by node; none without a lane
  std::vector<std::byte> round_, region_;
  std::vector<int64_t> lane_begins_;   // of the round's data, by member of this node
  std::vector<int64_t> node_begins_;   // of the own lane's part, by node
  std::vector<int64_t> slice_begins_;  // of the own node's region, by member of this node
  std::vector<int64_t> byte_begins_;
};

}  // namespace galvatron::comm::mpi
