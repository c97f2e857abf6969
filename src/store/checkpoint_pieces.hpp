#pragma once
// Who holds which stretches of which tensor: gathered from all ranks, checked to cover everything once, and
// cut into the blocks of the block table. Nothing here grows with how often a piece repeats.

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "store/block_table.hpp"
#include "store/checkpoint.hpp"
#include "store/checkpoint_schema.hpp"

namespace galvatron::store {

/// Longest block in bytes: what a reader must read at least to trust any part of it.
constexpr int64_t block_bytes = int64_t{4} << 20;

/// A piece without its memory: a slab in HDF5's sense, of one dim.
struct Slab {
  int64_t tensor = 0;
  int64_t offset = 0;
  int64_t count = 0;
  int64_t times = 1;
  int64_t stride = 0;
};

/// Collective: every rank's slabs, on every rank, in rank order and each rank's in the order of its pieces.
std::vector<std::vector<Slab>> gather_slabs(comm::World& world, std::span<const Piece> pieces);

/// Throws InternalError naming the first tensor that is not covered exactly once, and by whom.
void check_coverage(const std::vector<TensorInfo>& tensors, const std::vector<std::vector<Slab>>& ranks);

/// The rows of the block table that one rank writes, made one after the other: slab after slab, stretch after
/// stretch, in blocks of block_bytes at most.
class OwnRows {
 public:
  /// All outlive it.
  OwnRows(const std::vector<TensorInfo>& tensors, const std::vector<Slab>& slabs, int64_t writer,
          const Layout& layout)
      : tensors_(tensors), slabs_(slabs), writer_(writer), layout_(layout) {}

  /// The address is of `layout`, the hash left 0. Nothing at the end.
  std::optional<BlockRow> next();

  /// Where the row given last lies: number of the slab, of the stretch in it, elements before it there.
  size_t slab() const { return slab_; }
  int64_t time() const { return time_; }
  int64_t done() const { return done_; }

 private:
  const std::vector<TensorInfo>& tensors_;
  const std::vector<Slab>& slabs_;
  int64_t writer_;
  const Layout& layout_;
  size_t slab_ = 0;
  int64_t time_ = 0;
  int64_t done_ = 0;
  int64_t given_ = 0;  // elements of the row given last
};

/// How many rows OwnRows gives.
int64_t row_count(const std::vector<TensorInfo>& tensors, const std::vector<Slab>& slabs);

}  // namespace galvatron::store
