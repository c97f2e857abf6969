// Cutting blocks into messages that MPI can count.
#include "comm/mpi/transfer.hpp"

#include <algorithm>

#include "comm/mpi/check.hpp"

namespace galvatron::comm::mpi {
namespace {

/// Calls `post(data, count)` for each message of a block.
template <class Post>
void for_each_message(const Transfer& transfer, int64_t limit, Post post) {
  int64_t begin = 0;
  do {
    const auto bytes = std::min(limit, transfer.bytes - begin);
    post(transfer.data + begin, static_cast<int>(bytes));
    begin += bytes;
  } while (begin < transfer.bytes);
}

}  // namespace

void Requests::send(MPI_Comm comm, const Transfer& transfer, Tag tag, int64_t limit) {
  for_each_message(transfer, limit, [&](std::byte* data, int count) {
    requests_.push_back(MPI_REQUEST_NULL);
    GALV_MPI(MPI_Isend(data, count, MPI_BYTE, transfer.peer, static_cast<int>(tag), comm, &requests_.back()));
  });
}

void Requests::receive(MPI_Comm comm, const Transfer& transfer, Tag tag, int64_t limit) {
  for_each_message(transfer, limit, [&](std::byte* data, int count) {
    requests_.push_back(MPI_REQUEST_NULL);
    GALV_MPI(MPI_Irecv(data, count, MPI_BYTE, transfer.peer, static_cast<int>(tag), comm, &requests_.back()));
  });
}

void Requests::wait() {
  GALV_MPI(MPI_Waitall(static_cast<int>(requests_.size()), requests_.data(), MPI_STATUSES_IGNORE));
  requests_.clear();
}

bool Requests::test() {
  int done = 0;
  GALV_MPI(MPI_Testall(static_cast<int>(requests_.size()), requests_.data(), &done, MPI_STATUSES_IGNORE));
  if (done) requests_.clear();
  return done != 0;
}

}  // namespace galvatron::comm::mpi
