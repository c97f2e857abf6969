#pragma once
// A group of CPU ranks over MPI. MPI moves the bytes; the arithmetic is done here, in member order, because
// MPI promises neither the same bits on every member nor the same order in every run.

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "comm/communicator.hpp"
#include "comm/group.hpp"
#include "comm/mpi/comm_handle.hpp"
#include "comm/mpi/parts.hpp"
#include "comm/mpi/pending_pool.hpp"
#include "comm/mpi/transfer.hpp"

namespace galvatron::comm::mpi {

/// Sizes at which the ways of doing a collective change. Only tests choose others.
struct Limits {
  int64_t largest_message = mpi::largest_message;  ///< bytes
  /// Bytes of one contribution up to which an all-reduce gathers all contributions: one collective instead of
  /// two.
  int64_t gather_reduce = 8 << 10;
  /// Bytes of one member's part of one round of a reduction: bounds the scratch memory to 2 · members · this.
  int64_t round = 128 << 10;
  /// Bytes of one area of shared memory; each member of a group that uses it has four.
  int64_t shared_area = 128 << 10;
};

class MpiCommunicator final : public Communicator {
 public:
  /// `comm` has the members of `group` (at least 2) in the same order.
  MpiCommunicator(Group group, CommHandle comm, Limits limits = {});

  void expect_messages(int64_t count) override { pending_.reserve(count); }
  int size() const override { return group_.size(); }
  int index() const override { return group_.index; }
  const std::string& name() const override { return group_.name; }
  const std::vector<int>& members() const override { return group_.members; }

  void all_reduce(TensorView data, ReduceOp op) override;
  void all_gather(TensorView in, TensorView out) override;
  void reduce_scatter(TensorView in, TensorView out) override;
  void all_to_all(TensorView in, TensorView out) override;
  void broadcast(TensorView data, int root) override;
  Pending shift(TensorView in, TensorView out) override;
  void exchange(std::span<const Block> sends, std::span<const Block> receives) override;
  Pending send(TensorView data, int to, int channel) override;
  Pending receive(TensorView data, int from, int channel) override;
  void barrier() override;

  /// out (this member's part) = the reduction of everybody's part of `in`, whose parts `parts` cuts. `out`
  /// may be this member's part of `in`.
  void reduce_parts(const TensorView& in, const Parts& parts, std::byte* out, ReduceOp op);
  /// Every member has its own part of `data`; afterwards all parts. Units of `parts` are bytes.
  void gather_bytes(std::byte* data, const Parts& parts);
  MPI_Comm handle() const { return comm_.get(); }

 private:
  void all_reduce_small(const TensorView& data, ReduceOp op);
  void post_round(const TensorView& in, const Parts& parts, int64_t round);
  void reduce_round(const TensorView& in, const Parts& parts, int64_t round, std::byte* out, ReduceOp op);
  void gather_blocks(const std::byte* in, std::byte* out, int64_t block_bytes);
  std::byte* scratch(int64_t bytes);
  /// The member `step` places after this one.
  int peer(int step) const { return (index() + step) % size(); }

  Group group_;
  CommHandle comm_;
  Limits limits_;
  std::vector<std::byte> scratch_;
  std::array<Requests, 2> rounds_;
  std::vector<const std::byte*> contributions_;
  std::vector<int> counts_, offsets_;
  std::vector<int64_t> begins_, byte_begins_;
  PendingPool pending_;
};

}  // namespace galvatron::comm::mpi
