#pragma once
// From one layout of the activations to another: which of its rows a rank sends to whom, and which it gets
// from whom. Pure arithmetic on rectangles; programs, prices and tests all read the same lists.

#include <cstdint>
#include <vector>

#include "spec/token_layout.hpp"

namespace galvatron::spec {

/// `count` consecutive rows of a rank, from `row` on.
struct RowRun {
  int64_t row = 0, count = 0;
  bool operator==(const RowRun&) const = default;
};

/// The rows that one message carries, as runs of the rows of the rank that this list belongs to. Both ends
/// list them in the same order: ascending by sample, then by position.
struct PeerRows {
  int32_t peer = 0;  ///< rank in the stage
  std::vector<RowRun> runs;

  int64_t rows() const;
  bool operator==(const PeerRows&) const = default;
};

/// `count` rows that stay on the rank: at `from` in the old layout, at `to` in the new one.
struct KeptRows {
  int64_t from = 0, to = 0, count = 0;
  bool operator==(const KeptRows&) const = default;
};

/// What one rank does to get from one layout to another. Peers ascend and never name the rank itself; runs
/// that touch are one run.
struct Move {
  std::vector<KeptRows> kept;
  std::vector<PeerRows> sends;     ///< runs of its rows in the old layout
  std::vector<PeerRows> receives;  ///< runs of its rows in the new layout
  bool operator==(const Move&) const = default;
};

/// Both layouts are of the same samples and positions on equally many ranks; `rank` counts from 0 in the
/// stage. The way back, `move_of(to, from, rank)`, is the transpose: sends and receives change places.
Move move_of(const TokenLayout& from, const TokenLayout& to, int64_t rank);

/// Whether every rank owns the same rows in both: (dp, cp) decide, however sp and tp share the rest.
bool same_layout(const LayerStrategy& a, const LayerStrategy& b);

}  // namespace galvatron::spec
