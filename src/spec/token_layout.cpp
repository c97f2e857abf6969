// Rectangles of tokens per rank. Everything follows from two cuts: samples over dp, positions over (cp,
// sp·tp).

#include "spec/token_layout.hpp"

#include <algorithm>

#include "core/errors.hpp"

namespace galvatron::spec {
namespace {

/// Global positions [begin, end) of a cp block's concatenated coordinate.
std::vector<Range> block_ranges(int64_t positions, int32_t cp_degree, int32_t cp_index, int64_t begin,
                                int64_t end) {
  if (cp_degree == 1) return {{begin, end}};
  const auto half = positions / (2 * int64_t{cp_degree});
  const int64_t starts[2] = {cp_index * half, (2 * int64_t{cp_degree} - 1 - cp_index) * half};
  std::vector<Range> ranges;
  for (int64_t part = 0; part < 2; ++part) {
    const auto from = std::max(begin, part * half), to = std::min(end, (part + 1) * half);
    if (from < to) ranges.push_back({starts[part] + from - part * half, starts[part] + to - part * half});
  }
  return ranges;
}

}  // namespace

Range TokenLayout::samples_of(int32_t dp) const {
  const auto base = samples / strategy.dp, extra = samples % strategy.dp;
  const auto begin = dp * base + std::min<int64_t>(dp, extra);
  return {begin, begin + base + (dp < extra ? 1 : 0)};
}

std::vector<Range> TokenLayout::positions_of(const Coordinate& c) const {
  const int64_t pieces = int64_t{strategy.sp} * strategy.tp;
  const auto block = positions / strategy.cp;
  GALV_ASSERT(block % pieces == 0, positions, strategy.cp, pieces);
  const auto length = block / pieces, piece = c.sp * int64_t{strategy.tp} + c.tp;
  return block_ranges(positions, strategy.cp, c.cp, piece * length, (piece + 1) * length);
}

std::vector<Range> TokenLayout::gathered_positions_of(const Coordinate& c) const {
  const auto block = positions / strategy.cp, length = block / strategy.sp;
  return block_ranges(positions, strategy.cp, c.cp, c.sp * length, (c.sp + 1) * length);
}

int64_t TokenLayout::rows_of(const Coordinate& c) const {
  return samples_of(c.dp).size() * (positions / (int64_t{strategy.cp} * strategy.sp * strategy.tp));
}

}  // namespace galvatron::spec
