// Rounds through shared memory. In every round a member reads what was offered before the last meeting and
// offers what the next round needs, so there is one meeting per round.
#include "comm/mpi/shared_group.hpp"

#include <algorithm>

#include "comm/mpi/check.hpp"
#include "comm/mpi/transfer.hpp"
#include "comm/reduction.hpp"
#include "core/dtype.hpp"

namespace galvatron::comm::mpi {
namespace {

/// Up to this size every member reduces everything: one meeting instead of two.
constexpr int64_t at_once_bytes = 8 << 10;

/// How many of `slice` elements from `begin` on a part of `count` has.
int64_t within(int64_t count, int64_t begin, int64_t slice) {
  return std::clamp<int64_t>(count - begin, 0, slice);
}

}  // namespace

SharedGroup::SharedGroup(MPI_Comm comm, int64_t area_bytes)
    : area_bytes_((area_bytes + 63) / 64 * 64), window_(comm, 4 * area_bytes_) {
  GALV_MPI(MPI_Comm_size(comm, &size_));
  GALV_MPI(MPI_Comm_rank(comm, &index_));
}

std::byte* SharedGroup::slot(int member, int64_t meeting) const {
  return window_.piece(member) + meeting % 2 * 2 * area_bytes_;
}

void SharedGroup::offer(const TensorView& in, const Parts& parts, int64_t begin, int64_t slice) {
  const auto element = core::size_of(in.dtype);
  auto* own = slot(index_, next_meeting());
  for (int owner = 0; owner < size_; ++owner) {
    if (owner == index_) continue;
    copy_bytes(own + owner * slice * element, in.data + (parts.begin(owner) + begin) * element,
               within(parts.count(owner), begin, slice) * element);
  }
}

void SharedGroup::reduce_offered(const TensorView& in, const Parts& parts, int64_t begin, int64_t slice,
                                 std::byte* out, ReduceOp op) {
  const auto element = core::size_of(in.dtype);
  const auto count = within(parts.count(index_), begin, slice);
  if (count == 0) return;
  contributions_.clear();
  for (int i = 0; i < size_; ++i) {
    contributions_.push_back(i == index_ ? in.data + (parts.begin(i) + begin) * element
                                         : slot(i, window_.meetings()) + index_ * slice * element);
  }
  reduce_in_order(contributions_, out, count, in.dtype, op);
}

void SharedGroup::reduce_parts(const TensorView& in, const Parts& parts, std::byte* out, ReduceOp op) {
  const auto element = core::size_of(in.dtype);
  const auto slice = area_bytes_ / element / size_;
  const auto longest = parts.longest();
  offer(in, parts, 0, slice);
  for (int64_t begin = 0; begin < longest; begin += slice) {
    window_.meet();
    if (begin + slice < longest) offer(in, parts, begin + slice, slice);
    reduce_offered(in, parts, begin, slice, out + begin * element, op);
  }
}

void SharedGroup::all_reduce(const TensorView& data, ReduceOp op) {
  if (data.bytes() <= std::min(at_once_bytes, area_bytes_)) {
    all_reduce_at_once(data, op);
    return;
  }
  const auto element = core::size_of(data.dtype);
  const auto parts = even_parts(data.elements(), size_, size_, begins_);
  const auto slice = area_bytes_ / element / size_;
  const auto longest = parts.longest();
  offer(data, parts, 0, slice);
  window_.meet();
  for (int64_t begin = 0; begin < longest; begin += slice) {
    reduce_offered(data, parts, begin, slice, result(index_, next_meeting()), op);
    if (begin + slice < longest) offer(data, parts, begin + slice, slice);
    window_.meet();
    for (int owner = 0; owner < size_; ++owner) {
      copy_bytes(data.data + (parts.begin(owner) + begin) * element, result(owner, window_.meetings()),
                 within(parts.count(owner), begin, slice) * element);
    }
  }
}

void SharedGroup::all_reduce_at_once(const TensorView& data, ReduceOp op) {
  copy_bytes(slot(index_, next_meeting()), data.data, data.bytes());
  window_.meet();
  contributions_.clear();
  for (int i = 0; i < size_; ++i) contributions_.push_back(slot(i, window_.meetings()));
  reduce_in_order(contributions_, data.data, data.elements(), data.dtype, op);
}

void SharedGroup::gather_bytes(std::byte* data, const Parts& parts) {
  const auto longest = parts.longest();
  for (int64_t begin = 0; begin < longest; begin += area_bytes_) {
    copy_bytes(slot(index_, next_meeting()), data + parts.begin(index_) + begin,
               within(parts.count(index_), begin, area_bytes_));
    window_.meet();
    for (int step = 1; step < size_; ++step) {
      const int owner = (index_ + step) % size_;
      copy_bytes(data + parts.begin(owner) + begin, slot(owner, window_.meetings()),
                 within(parts.count(owner), begin, area_bytes_));
    }
  }
}

void SharedGroup::all_to_all(const std::byte* in, std::byte* out, int64_t block_bytes) {
  const auto slice = area_bytes_ / size_;
  copy_bytes(out + index_ * block_bytes, in + index_ * block_bytes, block_bytes);
  for (int64_t begin = 0; begin < block_bytes; begin += slice) {
    const auto count = within(block_bytes, begin, slice);
    auto* own = slot(index_, next_meeting());
    for (int to = 0; to < size_; ++to)
      if (to != index_) copy_bytes(own + to * slice, in + to * block_bytes + begin, count);
    window_.meet();
    for (int step = 1; step < size_; ++step) {
      const int from = (index_ + step) % size_;
      copy_bytes(out + from * block_bytes + begin, slot(from, window_.meetings()) + index_ * slice, count);
    }
  }
}

}  // namespace galvatron::comm::mpi
