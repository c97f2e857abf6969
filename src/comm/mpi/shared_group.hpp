#pragma once
// Collectives of members on one node through shared memory: what a member has to give it writes once, and
// everybody who needs it reads it there. Bits are those of the direct form: contributions are added in member
// order.

#include <cstddef>
#include <cstdint>
#include <vector>

#include "comm/communicator.hpp"
#include "comm/mpi/parts.hpp"
#include "comm/mpi/shared_window.hpp"

namespace galvatron::comm::mpi {

/// Data passes in rounds through areas of `area_bytes`; each member has four of them.
class SharedGroup {
 public:
  /// Collective over `comm`, whose members (two or more) are on one node; it outlives the group.
  SharedGroup(MPI_Comm comm, int64_t area_bytes);

  void all_reduce(const TensorView& data, ReduceOp op);
  /// out (this member's part) = the reduction of everybody's part of `in`, whose parts `parts` cuts. `out`
  /// may be this member's part of `in`.
  void reduce_parts(const TensorView& in, const Parts& parts, std::byte* out, ReduceOp op);
  /// Every member has its own part of `data`; afterwards all parts. Units of `parts` are bytes.
  void gather_bytes(std::byte* data, const Parts& parts);
  /// Block of member i of `out` = this member's block of its `in`.
  void all_to_all(const std::byte* in, std::byte* out, int64_t block_bytes);

 private:
  /// What is written before a meeting is read between it and the next one. The next but one meeting's
  /// writers may write there again, because all readers have come to the meeting between.
  std::byte* slot(int member, int64_t meeting) const;
  std::byte* result(int member, int64_t meeting) const { return slot(member, meeting) + area_bytes_; }
  int64_t next_meeting() const { return window_.meetings() + 1; }

  void all_reduce_at_once(const TensorView& data, ReduceOp op);
  /// Elements [begin, begin + slice) of every other member's part, into the own slot.
  void offer(const TensorView& in, const Parts& parts, int64_t begin, int64_t slice);
  /// The reduction of the own part's elements [begin, …), offered before the last meeting.
  void reduce_offered(const TensorView& in, const Parts& parts, int64_t begin, int64_t slice, std::byte* out,
                      ReduceOp op);

  int size_ = 0;
  int index_ = 0;
  int64_t area_bytes_;
  SharedWindow window_;
  std::vector<const std::byte*> contributions_;
  std::vector<int64_t> begins_;
};

}  // namespace galvatron::comm::mpi
