#pragma once
// Who holds which stretch of which tensor: gathered from all ranks, checked to cover everything once, and cut
// into the blocks of the block table.

#include <cstdint>
#include <span>
#include <vector>

#include "store/checkpoint.hpp"
#include "store/checkpoint_schema.hpp"
#include "store/sealed_file.hpp"

namespace galvatron::store {

/// Longest block in bytes: what a reader must read at least to trust any part of it.
constexpr int64_t block_bytes = int64_t{4} << 20;

/// A piece without its memory.
struct Stretch {
  int64_t tensor = 0;
  int64_t offset = 0;
  int64_t count = 0;
};

/// Collective: every rank's stretches, on every rank, in rank order.
std::vector<std::vector<Stretch>> gather_stretches(comm::World& world, std::span<const Piece> pieces);

/// Throws InternalError naming the first tensor that is not covered exactly once, and by whom.
void check_coverage(const std::vector<TensorInfo>& tensors, const std::vector<std::vector<Stretch>>& ranks);

/// Blocks of one rank in the order of its stretches; addresses from `layout`, hashes left 0.
std::vector<BlockRow> rows_of(const std::vector<TensorInfo>& tensors, const std::vector<Stretch>& stretches,
                              int64_t writer, const Layout& layout);

/// How many rows rows_of() gives.
int64_t row_count(const std::vector<TensorInfo>& tensors, const std::vector<Stretch>& stretches);

}  // namespace galvatron::store
