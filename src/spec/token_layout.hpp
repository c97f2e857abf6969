#pragma once
// Which (sample × position) rectangles of the activations each rank of a stage owns between layers. Pure
// arithmetic; the one idea behind transitions, pipeline messages, the loader and their prices.

#include <cstdint>
#include <vector>

#include "spec/mesh.hpp"
#include "spec/strategy.hpp"

namespace galvatron::spec {

/// Half-open [begin, end).
struct Range {
  int64_t begin = 0, end = 0;
  int64_t size() const { return end - begin; }
  auto operator<=>(const Range&) const = default;
};

/// Samples over dp (uneven by at most one), positions over cp × sp × tp. With cp > 1 block i holds the zigzag
/// halves i and 2c−1−i, concatenated; inside it positions are cut into sp·tp equal pieces, piece =
/// sp_index·tp + tp_index.
struct TokenLayout {
  int64_t samples = 0;
  int64_t positions = 0;
  LayerStrategy strategy;

  /// Samples of data-parallel index `dp`.
  Range samples_of(int32_t dp) const;
  /// Global position ranges that the rank at `c` owns, ascending in the order of its rows.
  std::vector<Range> positions_of(const Coordinate& c) const;
  /// Position ranges of its whole tp group (what a layer sees after gathering over tp), in the order of rows.
  std::vector<Range> gathered_positions_of(const Coordinate& c) const;
  /// Rows (tokens) of the rank at `c`.
  int64_t rows_of(const Coordinate& c) const;
};

}  // namespace galvatron::spec
