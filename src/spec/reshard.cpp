// Rectangles of one layout are intersected with those of the other, sample by sample and range by range, in
// ascending order, so that sender and receiver walk the same rows without telling each other.

#include "spec/reshard.hpp"

#include <algorithm>

#include "core/errors.hpp"

namespace galvatron::spec {
namespace {

/// All that one rank owns.
struct Owned {
  Range samples;
  std::vector<Range> positions;
  int64_t length = 0;  ///< rows per sample
};

Owned owned_by(const TokenLayout& layout, int64_t rank) {
  const auto c = MeshShape(layout.strategy, 0).coordinate_of(rank);
  Owned owned{layout.samples_of(c.dp), layout.positions_of(c), 0};
  for (const auto& range : owned.positions) owned.length += range.size();
  return owned;
}

/// Calls `with(row in a, row in b, count)` for everything that both own, in canonical order.
template <class With>
void common_rows(const Owned& a, const Owned& b, const With& with) {
  const auto begin = std::max(a.samples.begin, b.samples.begin), end = std::min(a.samples.end, b.samples.end);
  for (auto sample = begin; sample < end; ++sample) {
    auto row_a = (sample - a.samples.begin) * a.length;
    for (const auto& range_a : a.positions) {
      auto row_b = (sample - b.samples.begin) * b.length;
      for (const auto& range_b : b.positions) {
        const auto from = std::max(range_a.begin, range_b.begin), to = std::min(range_a.end, range_b.end);
        if (from < to) with(row_a + from - range_a.begin, row_b + from - range_b.begin, to - from);
        row_b += range_b.size();
      }
      row_a += range_a.size();
    }
  }
}

void append(std::vector<RowRun>& runs, int64_t row, int64_t count) {
  if (!runs.empty() && runs.back().row + runs.back().count == row)
    runs.back().count += count;
  else
    runs.push_back({row, count});
}

void append(std::vector<KeptRows>& kept, int64_t from, int64_t to, int64_t count) {
  if (!kept.empty() && kept.back().from + kept.back().count == from &&
      kept.back().to + kept.back().count == to)
    kept.back().count += count;
  else
    kept.push_back({from, to, count});
}

/// Ranks of one dp index, counted from its first, that own some of the positions, ascending: pieces of equal
/// length, (cp, piece) in order, of which a half of a block holds a whole number or a piece holds both
/// halves.
std::vector<int64_t> owners_of(const TokenLayout& layout, const std::vector<Range>& positions) {
  const int64_t blocks = layout.strategy.cp, pieces = int64_t{layout.strategy.sp} * layout.strategy.tp;
  const int64_t block = layout.positions / blocks, length = block / pieces;
  const int64_t half = blocks == 1 ? block : block / 2;
  std::vector<int64_t> owners;
  for (const auto& range : positions)
    for (int64_t part = range.begin / half; part * half < range.end; ++part) {
      // The part as a block's first or second half: where it lies in the block's own coordinate.
      const bool second = part >= blocks;
      const int64_t index = second ? 2 * blocks - 1 - part : part, shift = second ? half : 0;
      const int64_t begin = std::max(range.begin, part * half) - part * half + shift;
      const int64_t end = std::min(range.end, (part + 1) * half) - part * half + shift;
      for (int64_t piece = begin / length; piece * length < end; ++piece)
        owners.push_back(index * pieces + piece);
    }
  std::sort(owners.begin(), owners.end());
  owners.erase(std::unique(owners.begin(), owners.end()), owners.end());
  return owners;
}

/// Other ranks that own some of the same rows, ascending: ranks of one dp index lie in a row.
std::vector<int64_t> peers_of(const TokenLayout& layout, const Owned& owned, int64_t rank) {
  const int64_t per_index = layout.strategy.ranks() / layout.strategy.dp;
  const auto owners = owners_of(layout, owned.positions);
  std::vector<int64_t> peers;
  for (int32_t dp = 0; dp < layout.strategy.dp; ++dp) {
    const Range own = layout.samples_of(dp);
    if (std::max(own.begin, owned.samples.begin) >= std::min(own.end, owned.samples.end)) continue;
    for (const int64_t owner : owners)
      if (dp * per_index + owner != rank) peers.push_back(dp * per_index + owner);
  }
  return peers;
}

}  // namespace

int64_t PeerRows::rows() const {
  int64_t sum = 0;
  for (const auto& run : runs) sum += run.count;
  return sum;
}

Move move_of(const TokenLayout& from, const TokenLayout& to, int64_t rank) {
  const auto ranks = from.strategy.ranks();
  GALV_ASSERT(ranks == to.strategy.ranks() && from.samples == to.samples && from.positions == to.positions,
              ranks, to.strategy.ranks(), from.samples, to.samples, from.positions, to.positions);
  const auto old_rows = owned_by(from, rank), new_rows = owned_by(to, rank);
  Move move;
  common_rows(old_rows, new_rows, [&](int64_t old_row, int64_t new_row, int64_t count) {
    append(move.kept, old_row, new_row, count);
  });
  for (const int64_t peer : peers_of(to, old_rows, rank)) {
    PeerRows send{static_cast<int32_t>(peer), {}};
    common_rows(old_rows, owned_by(to, peer),
                [&](int64_t row, int64_t, int64_t count) { append(send.runs, row, count); });
    if (!send.runs.empty()) move.sends.push_back(std::move(send));
  }
  for (const int64_t peer : peers_of(from, new_rows, rank)) {
    PeerRows receive{static_cast<int32_t>(peer), {}};
    common_rows(owned_by(from, peer), new_rows,
                [&](int64_t, int64_t row, int64_t count) { append(receive.runs, row, count); });
    if (!receive.runs.empty()) move.receives.push_back(std::move(receive));
  }
  return move;
}

bool same_layout(const LayerStrategy& a, const LayerStrategy& b) {
  return a.dp == b.dp && a.cp == b.cp;
}

}  // namespace galvatron::spec
