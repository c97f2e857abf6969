// Arithmetic on slabs. Its errors are defects of the caller, so they name ranks and elements.
#include "store/checkpoint_pieces.hpp"

#include <algorithm>
#include <cstring>
#include <string>

#include "core/errors.hpp"
#include "core/format.hpp"
#include "store/interleaved.hpp"

namespace galvatron::store {
namespace {

int64_t elements_per_block(const TensorInfo& tensor) {
  return block_bytes / core::size_of(tensor.dtype);
}

void check_slab(const std::vector<TensorInfo>& tensors, const Slab& s, size_t rank) {
  if (s.tensor < 0 || s.tensor >= static_cast<int64_t>(tensors.size()))
    throw core::InternalError(
        core::format("rank {} has a piece of tensor number {} of {}", rank, s.tensor, tensors.size()));
  const auto& tensor = tensors[static_cast<size_t>(s.tensor)];
  const auto room = tensor.elements() - s.count;
  if (s.offset < 0 || s.count < 0 || s.offset > room)
    throw core::InternalError(core::format("rank {} has elements {} to {} of tensor '{}', which has {}", rank,
                                           s.offset, s.offset + s.count, tensor.name, tensor.elements()));
  if (s.times < 1 || (s.times > 1 && (s.stride < std::max<int64_t>(s.count, 1) ||
                                      s.times - 1 > (room - s.offset) / s.stride)))
    throw core::InternalError(
        core::format("rank {} has {} stretches of {} elements, {} apart from element {} on, of tensor '{}', "
                     "which has {}",
                     rank, s.times, s.count, s.stride, s.offset, tensor.name, tensor.elements()));
}

/// All slabs on one axis, on which the tensors' elements lie one tensor after the other.
struct Axis {
  std::vector<int64_t> begins;     ///< per tensor, and the end of the last
  std::vector<const Slab*> slabs;  ///< none that is empty
  std::vector<int64_t> ranks;      ///< who holds it, per slab

  Axis(const std::vector<TensorInfo>& tensors, const std::vector<std::vector<Slab>>& of_ranks) : begins{0} {
    for (const auto& tensor : tensors) begins.push_back(begins.back() + tensor.elements());
    for (size_t rank = 0; rank < of_ranks.size(); ++rank)
      for (const auto& slab : of_ranks[rank]) {
        check_slab(tensors, slab, rank);
        if (slab.count == 0) continue;
        slabs.push_back(&slab);
        ranks.push_back(static_cast<int64_t>(rank));
      }
  }

  std::vector<Repeated> places() const {
    std::vector<Repeated> places;
    places.reserve(slabs.size());
    for (size_t i = 0; i < slabs.size(); ++i)
      places.push_back({begins[static_cast<size_t>(slabs[i]->tensor)] + slabs[i]->offset, slabs[i]->stride,
                        slabs[i]->times, static_cast<int64_t>(i)});
    return places;
  }

  size_t tensor_at(int64_t place) const {
    return static_cast<size_t>(std::upper_bound(begins.begin(), begins.end(), place) - begins.begin()) - 1;
  }
};

}  // namespace

std::vector<std::vector<Slab>> gather_slabs(comm::World& world, std::span<const Piece> pieces) {
  std::string mine(pieces.size() * sizeof(Slab), '\0');
  for (size_t i = 0; i < pieces.size(); ++i) {
    const auto& piece = pieces[i];
    const Slab slab{piece.tensor, piece.offset, piece.count, piece.times, piece.stride};
    std::memcpy(mine.data() + i * sizeof(Slab), &slab, sizeof(Slab));
  }
  std::vector<std::vector<Slab>> ranks;
  for (const auto& text : world.all_gather(mine)) {
    auto& slabs = ranks.emplace_back(text.size() / sizeof(Slab));
    if (!text.empty()) std::memcpy(slabs.data(), text.data(), text.size());
  }
  return ranks;
}

void check_coverage(const std::vector<TensorInfo>& tensors, const std::vector<std::vector<Slab>>& ranks) {
  const Axis axis(tensors, ranks);
  int64_t at = 0;  // elements before it are covered once
  int64_t before = -1;
  const auto expect_covered_to = [&](int64_t place) {
    if (place <= at) return;
    const auto tensor = axis.tensor_at(at);
    const auto end = std::min(place, axis.begins[tensor + 1]);
    throw core::InternalError(core::format("tensor '{}': elements {} to {} are given by no rank",
                                           tensors[tensor].name, at - axis.begins[tensor],
                                           end - axis.begins[tensor]));
  };
  Interleaved walk(axis.places());
  while (const auto place = walk.next()) {
    const auto rank = axis.ranks[static_cast<size_t>(place->owner)];
    expect_covered_to(place->at);
    if (place->at < at) {
      const auto tensor = axis.tensor_at(place->at);
      throw core::InternalError(core::format("tensor '{}': element {} is given by ranks {} and {}",
                                             tensors[tensor].name, place->at - axis.begins[tensor], before,
                                             rank));
    }
    at += axis.slabs[static_cast<size_t>(place->owner)]->count;
    before = rank;
  }
  expect_covered_to(axis.begins.back());
}

std::optional<BlockRow> OwnRows::next() {
  done_ += given_;
  given_ = 0;
  while (slab_ < slabs_.size() && done_ >= slabs_[slab_].count) {
    done_ = 0;
    if (++time_ < slabs_[slab_].times) continue;
    time_ = 0;
    ++slab_;
  }
  if (slab_ == slabs_.size()) return std::nullopt;
  const auto& slab = slabs_[slab_];
  const auto& tensor = tensors_[static_cast<size_t>(slab.tensor)];
  const auto size = core::size_of(tensor.dtype);
  BlockRow row;
  row.tensor = slab.tensor;
  row.offset = slab.offset + time_ * slab.stride + done_;
  row.count = given_ = std::min(elements_per_block(tensor), slab.count - done_);
  row.address = layout_.tensors[static_cast<size_t>(slab.tensor)] + row.offset * size;
  row.bytes = row.count * size;
  row.writer = writer_;
  return row;
}

int64_t row_count(const std::vector<TensorInfo>& tensors, const std::vector<Slab>& slabs) {
  int64_t rows = 0;
  for (const auto& slab : slabs) {
    const auto most = elements_per_block(tensors[static_cast<size_t>(slab.tensor)]);
    rows += slab.times * ((slab.count + most - 1) / most);
  }
  return rows;
}

}  // namespace galvatron::store
