#pragma once
// What pretended ranks said to each other. Real ranks would wait for ever when a send has no receive or when
// two members call their collectives in different orders; here the two sides are only written down, and
// compared afterwards.

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "comm/group.hpp"
#include "core/dtype.hpp"

namespace galvatron::comm::dry {

/// An exchange is written down as the call of all members and one block_send or block_receive for each of
/// its blocks.
enum class CallKind {
  all_reduce,
  all_gather,
  reduce_scatter,
  all_to_all,
  broadcast,
  barrier,
  shift,
  exchange,
  send,
  receive,
  block_send,
  block_receive
};

std::string_view to_string(CallKind kind);

/// One call of one rank on one communicator.
struct Call {
  CallKind kind = CallKind::barrier;
  /// Of this rank's larger operand: all_gather counts its output, reduce_scatter its input.
  int64_t bytes = 0;
  core::DType dtype = core::DType::f32;
  ReduceOp op = ReduceOp::sum;
  /// send, receive, blocks: the other member; broadcast: the root; else −1.
  int peer = -1;
  /// send, receive: the channel; blocks: which exchange of this communicator.
  int64_t channel = 0;

  bool operator==(const Call&) const = default;
  std::string to_string() const;
};

/// Written by the dry communicators of any number of pretended ranks, one after the other (not from several
/// threads).
class Ledger {
 public:
  void record(const Group& group, const Call& call);

  /// Throws core::InternalError naming the group, the rank and the call where two ranks do not fit: members
  /// of a group must make equal collectives in equal order, and the k-th send from a to b on a channel must
  /// have the size of the k-th receive of b from a there; the blocks of each exchange likewise. Members in
  /// `absent_ranks` were not rehearsed and fit everything; a member that is silent otherwise is a mismatch.
  void check(const std::vector<int>& absent_ranks = {}) const;

  /// Calls of a world rank on all its communicators, in the order made.
  const std::vector<Call>& calls(int rank) const;

 private:
  struct Record {
    Group group;                             // index unused
    std::map<int, std::vector<Call>> calls;  // by member index
  };

  std::map<std::string, Record> records_;  // by group name: names are unique to (traffic, ordered ranks)
  std::map<int, std::vector<Call>> by_rank_;
};

}  // namespace galvatron::comm::dry
