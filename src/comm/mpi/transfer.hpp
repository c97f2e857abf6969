#pragma once
// Messages of any size between two members. MPI counts in int, so a large block travels as several messages;
// both sides cut it alike.

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

namespace galvatron::comm::mpi {

/// Bytes of the largest single message; longer blocks are cut.
constexpr int64_t largest_message = int64_t{1} << 30;

/// Messages of programs and messages inside collectives do not meet. Channel c of programs is message + c.
enum class Tag : int { collective = 1, shift = 2, exchange = 3, message = 16 };

inline Tag tag_of_channel(int channel) {
  return static_cast<Tag>(static_cast<int>(Tag::message) + channel);
}

/// Nothing where there is nothing, or it is there already.
inline void copy_bytes(std::byte* to, const std::byte* from, int64_t bytes) {
  if (bytes > 0 && to != from) std::memcpy(to, from, static_cast<size_t>(bytes));
}

/// One block to or from member `peer`.
struct Transfer {
  std::byte* data = nullptr;
  int64_t bytes = 0;
  int peer = 0;
};

/// Started transfers. Not finished by destruction.
class Requests {
 public:
  /// A transfer of 0 bytes is a message too.
  void send(MPI_Comm comm, const Transfer& transfer, Tag tag, int64_t limit);
  void receive(MPI_Comm comm, const Transfer& transfer, Tag tag, int64_t limit);
  /// Room for so many.
  void reserve(size_t count) { requests_.reserve(count); }
  void wait();
  bool test();
  /// Nothing started, or all of it finished.
  bool empty() const { return requests_.empty(); }

 private:
  std::vector<MPI_Request> requests_;
};

}  // namespace galvatron::comm::mpi
