// Collectives over MPI: calls, messages, and which way is taken for which size. The sums are in
// mpi_reduce.cpp.
#include "comm/mpi/mpi_communicator.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "comm/mpi/check.hpp"
#include "core/errors.hpp"

namespace galvatron::comm::mpi {

MpiCommunicator::MpiCommunicator(Group group, CommHandle comm, Limits limits)
    : group_(std::move(group)), comm_(std::move(comm)), limits_(limits) {
  GALV_ASSERT(group_.size() > 1, group_.name);
}

void MpiCommunicator::all_gather(TensorView in, TensorView out) {
  check_all_gather(group_, in, out);
  gather_blocks(in.data, out.data, in.bytes());
}

void MpiCommunicator::gather_blocks(const std::byte* in, std::byte* out, int64_t block_bytes) {
  auto* own = out + index() * block_bytes;
  if (block_bytes <= limits_.largest_message) {
    const auto count = static_cast<int>(block_bytes);
    const void* source = in == own ? MPI_IN_PLACE : in;
    GALV_MPI(MPI_Allgather(source, count, MPI_BYTE, out, count, MPI_BYTE, comm_.get()));
    return;
  }
  if (in != own) std::memmove(own, in, static_cast<size_t>(block_bytes));
  auto& requests = rounds_[0];
  for (int step = 1; step < size(); ++step) {
    const int from = peer(size() - step);
    requests.receive(comm_.get(), {out + from * block_bytes, block_bytes, from}, Tag::collective,
                     limits_.largest_message);
    requests.send(comm_.get(), {own, block_bytes, peer(step)}, Tag::collective, limits_.largest_message);
  }
  requests.wait();
}

void MpiCommunicator::all_to_all(TensorView in, TensorView out) {
  check_all_to_all(group_, in, out);
  const auto block_bytes = in.bytes() / size();
  if (block_bytes <= limits_.largest_message) {
    const auto count = static_cast<int>(block_bytes);
    GALV_MPI(MPI_Alltoall(in.data, count, MPI_BYTE, out.data, count, MPI_BYTE, comm_.get()));
    return;
  }
  std::memcpy(out.data + index() * block_bytes, in.data + index() * block_bytes,
              static_cast<size_t>(block_bytes));
  auto& requests = rounds_[0];
  for (int step = 1; step < size(); ++step) {
    const int from = peer(size() - step);
    const int to = peer(step);
    requests.receive(comm_.get(), {out.data + from * block_bytes, block_bytes, from}, Tag::collective,
                     limits_.largest_message);
    requests.send(comm_.get(), {in.data + to * block_bytes, block_bytes, to}, Tag::collective,
                  limits_.largest_message);
  }
  requests.wait();
}

void MpiCommunicator::broadcast(TensorView data, int root) {
  check_rooted(group_, "broadcast", data, root);
  for (int64_t begin = 0; begin < data.bytes(); begin += limits_.largest_message) {
    const auto count = std::min(limits_.largest_message, data.bytes() - begin);
    GALV_MPI(MPI_Bcast(data.data + begin, static_cast<int>(count), MPI_BYTE, root, comm_.get()));
  }
}

Pending MpiCommunicator::shift(TensorView in, TensorView out) {
  check_shift(group_, in, out);
  auto& slot = pending_.take();
  Pending pending(&slot);
  const int previous = peer(size() - 1);
  slot.requests.receive(comm_.get(), {out.data, out.bytes(), previous}, Tag::shift, limits_.largest_message);
  slot.requests.send(comm_.get(), {in.data, in.bytes(), peer(1)}, Tag::shift, limits_.largest_message);
  return pending;
}

// Empty blocks are left out by both sides, so that naming them and not naming them is the same.
void MpiCommunicator::exchange(std::span<const Block> sends, std::span<const Block> receives) {
  check_exchange(group_, sends, receives);
  auto& requests = rounds_[0];
  for (const auto& [data, from] : receives) {
    if (from == index() || data.bytes() == 0) continue;
    requests.receive(comm_.get(), {data.data, data.bytes(), from}, Tag::exchange, limits_.largest_message);
  }
  for (const auto& [data, to] : sends) {
    if (to == index() || data.bytes() == 0) continue;
    requests.send(comm_.get(), {data.data, data.bytes(), to}, Tag::exchange, limits_.largest_message);
  }
  const auto* own = block_of(sends, index());
  if (own != nullptr && own->data.bytes() > 0) {
    std::memcpy(block_of(receives, index())->data.data, own->data.data,
                static_cast<size_t>(own->data.bytes()));
  }
  requests.wait();
}

Pending MpiCommunicator::send(TensorView data, int to, int channel) {
  check_message(group_, "send", data, to, channel);
  auto& slot = pending_.take();
  Pending pending(&slot);
  slot.requests.send(comm_.get(), {data.data, data.bytes(), to}, tag_of_channel(channel),
                     limits_.largest_message);
  return pending;
}

Pending MpiCommunicator::receive(TensorView data, int from, int channel) {
  check_message(group_, "receive", data, from, channel);
  auto& slot = pending_.take();
  Pending pending(&slot);
  slot.requests.receive(comm_.get(), {data.data, data.bytes(), from}, tag_of_channel(channel),
                        limits_.largest_message);
  return pending;
}

void MpiCommunicator::barrier() {
  GALV_MPI(MPI_Barrier(comm_.get()));
}

}  // namespace galvatron::comm::mpi
