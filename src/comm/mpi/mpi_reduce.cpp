// Reductions that give the same bits on every member, in every run and with every MPI library: MPI moves
// contributions, and whoever owns a part adds them in member order. A small all-reduce gathers everything
// everywhere. A large one is a reduce-scatter in rounds (direct exchange: each member sends every other one
// its slice; the next round travels while this one is summed) followed by an all-gather, so it moves 2 (n −
// 1) / n of the data per member, as the best known algorithms do.
#include <algorithm>
#include <vector>

#include "comm/mpi/check.hpp"
#include "comm/mpi/mpi_communicator.hpp"
#include "comm/reduction.hpp"
#include "core/dtype.hpp"

namespace galvatron::comm::mpi {

void MpiCommunicator::all_reduce(TensorView data, ReduceOp op) {
  check_all_reduce(group_, data);
  if (data.elements() == 0) return;
  if (data.bytes() <= limits_.gather_reduce) {
    all_reduce_small(data, op);
    return;
  }
  const auto element = core::size_of(data.dtype);
  const auto parts = even_parts(data.elements(), size(), size(), begins_);
  reduce_parts(data, parts, data.data + parts.begin(index()) * element, op);
  gather_bytes(data.data, scaled_parts(parts, element, byte_begins_));
}

void MpiCommunicator::reduce_scatter(TensorView in, TensorView out) {
  check_reduce_scatter(group_, in, out);
  if (in.elements() == 0) return;
  reduce_parts(in, even_parts(in.elements(), size(), size(), begins_), out.data, ReduceOp::sum);
}

void MpiCommunicator::all_reduce_small(const TensorView& data, ReduceOp op) {
  auto* all = scratch(data.bytes() * size());
  gather_blocks(data.data, all, data.bytes());
  contributions_.clear();
  for (int i = 0; i < size(); ++i) contributions_.push_back(all + i * data.bytes());
  reduce_in_order(contributions_, data.data, data.elements(), data.dtype, op);
}

void MpiCommunicator::reduce_parts(const TensorView& in, const Parts& parts, std::byte* out, ReduceOp op) {
  const auto round_elements = limits_.round / core::size_of(in.dtype);
  const auto rounds = (parts.longest() + round_elements - 1) / round_elements;
  if (rounds == 0) return;
  scratch(2 * size() * limits_.round);
  post_round(in, parts, 0);
  for (int64_t round = 0; round < rounds; ++round) {
    if (round + 1 < rounds) post_round(in, parts, round + 1);
    rounds_[round % 2].wait();
    reduce_round(in, parts, round, out, op);
  }
}

void MpiCommunicator::post_round(const TensorView& in, const Parts& parts, int64_t round) {
  const auto element = core::size_of(in.dtype);
  const auto begin = round * (limits_.round / element);
  const auto slice = [&](int member) {
    return std::clamp<int64_t>(parts.count(member) - begin, 0, limits_.round / element) * element;
  };
  auto& requests = rounds_[round % 2];
  auto* received = scratch_.data() + (round % 2) * size() * limits_.round;
  for (int step = 1; step < size(); ++step) {
    const int from = peer(size() - step);
    if (slice(index()) > 0) {
      requests.receive(comm_.get(), {received + from * limits_.round, slice(index()), from}, Tag::collective,
                       limits_.largest_message);
    }
    const int to = peer(step);
    if (slice(to) > 0) {
      auto* source = in.data + (parts.begin(to) + begin) * element;
      requests.send(comm_.get(), {source, slice(to), to}, Tag::collective, limits_.largest_message);
    }
  }
}

void MpiCommunicator::reduce_round(const TensorView& in, const Parts& parts, int64_t round, std::byte* out,
                                   ReduceOp op) {
  const auto element = core::size_of(in.dtype);
  const auto begin = round * (limits_.round / element);
  const auto count = std::min(parts.count(index()) - begin, limits_.round / element);
  if (count <= 0) return;
  const auto* received = scratch_.data() + (round % 2) * size() * limits_.round;
  contributions_.clear();
  for (int i = 0; i < size(); ++i) {
    const auto* own = in.data + (parts.begin(i) + begin) * element;
    contributions_.push_back(i == index() ? own : received + i * limits_.round);
  }
  reduce_in_order(contributions_, out + begin * element, count, in.dtype, op);
}

void MpiCommunicator::gather_bytes(std::byte* data, const Parts& parts) {
  if (parts.elements() <= limits_.largest_message) {
    counts_.clear();
    offsets_.clear();
    for (int i = 0; i < size(); ++i) {
      counts_.push_back(static_cast<int>(parts.count(i)));
      offsets_.push_back(static_cast<int>(parts.begin(i)));
    }
    GALV_MPI(MPI_Allgatherv(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, data, counts_.data(), offsets_.data(),
                            MPI_BYTE, comm_.get()));
    return;
  }
  const auto part = [&](int member, int to_or_from) {
    return Transfer{data + parts.begin(member), parts.count(member), to_or_from};
  };
  auto& requests = rounds_[0];
  for (int step = 1; step < size(); ++step) {
    const int from = peer(size() - step);
    requests.receive(comm_.get(), part(from, from), Tag::collective, limits_.largest_message);
    requests.send(comm_.get(), part(index(), peer(step)), Tag::collective, limits_.largest_message);
  }
  requests.wait();
}

std::byte* MpiCommunicator::scratch(int64_t bytes) {
  if (static_cast<int64_t>(scratch_.size()) < bytes) scratch_.resize(static_cast<size_t>(bytes));
  return scratch_.data();
}

}  // namespace galvatron::comm::mpi
