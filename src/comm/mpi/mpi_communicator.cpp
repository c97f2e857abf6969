// Collectives over MPI: calls, messages, and which way is taken for which size. The sums are in
// mpi_reduce.cpp.
#include "comm/mpi/mpi_communicator.hpp"

#include <algorithm>
#include <cstring>
#include <memory>
#include <utility>

#include "comm/mpi/check.hpp"
#include "core/errors.hpp"

namespace galvatron::comm::mpi {
namespace {

class MpiPending final : public Pending::State {
 public:
  Requests requests;
  void wait() override { requests.wait(); }
  bool test() override { return requests.test(); }
};

}  // namespace

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
  Requests requests;
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
  Requests requests;
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

Pending MpiCommunicator::send(TensorView data, int to) {
  check_message(group_, "send", data, to);
  auto state = std::make_unique<MpiPending>();
  state->requests.send(comm_.get(), {data.data, data.bytes(), to}, Tag::message, limits_.largest_message);
  return Pending(std::move(state));
}

Pending MpiCommunicator::receive(TensorView data, int from) {
  check_message(group_, "receive", data, from);
  auto state = std::make_unique<MpiPending>();
  state->requests.receive(comm_.get(), {data.data, data.bytes(), from}, Tag::message,
                          limits_.largest_message);
  return Pending(std::move(state));
}

void MpiCommunicator::barrier() {
  GALV_MPI(MPI_Barrier(comm_.get()));
}

}  // namespace galvatron::comm::mpi
