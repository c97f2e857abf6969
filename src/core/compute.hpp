#pragma once
// The small vocabulary that programs and kernels share: which variant of a compute step or a collective is
// meant. It lives here because neither room may include the other.

#include <cstdint>

namespace galvatron::core {

enum class Transpose : uint8_t { no, yes };
enum class Write : uint8_t { overwrite, accumulate };
enum class Direction : uint8_t { forward, inverse };
enum class NormKind : uint8_t { layernorm, rmsnorm };
enum class ActivationKind : uint8_t { gelu, swiglu };
/// The step after a product that a device may make in the same pass: gelu of it; gelu's backward with it as
/// the gradient; the column sums of its first factor, a bias's gradient beside a weight's.
enum class EpilogueKind : uint8_t { gelu, gelu_backward, column_sum };
/// The head's loss over vocabulary slices: `whole` when one rank holds all of it, else the other three with
/// reductions between.
enum class CrossEntropyPhase : uint8_t { whole, maximum, exponentials, gradient };
/// shift: around the ring, to the next member and from the one before. exchange: blocks of any size between
/// any two.
enum class CollectiveKind : uint8_t {
  all_reduce,
  all_gather,
  reduce_scatter,
  all_to_all,
  broadcast,
  shift,
  exchange
};
enum class ReduceOp : uint8_t { sum, max };
enum class OptimizerKind : uint8_t { adamw, sgd };

/// Which part of queries × keys an attention call computes, for blocks of positions in zigzag order: two
/// halves in ascending order, so that the causal work of ring attention balances. diagonal: keys of the same
/// block, causal. earlier: every query, the first half of the keys, no mask. later: the second half of the
/// queries, every key, no mask.
enum class AttentionPart : uint8_t { diagonal, earlier, later };

/// The place in its sample of every row of an activation. Rows lie [piece][sample][offset]; their coordinate
/// in the context-parallel block is begin + piece · length + offset, and the block's halves start at two
/// positions of the sample (one block: half = all of it).
struct RowPositions {
  int64_t samples = 1, pieces = 1;
  int64_t length = 0;             ///< offsets of a piece: rows = pieces · samples · length
  int64_t begin = 0;              ///< coordinate of the first row
  int64_t half = 0;               ///< coordinates of the first half of the block
  int64_t first = 0, second = 0;  ///< positions at which the halves start

  int64_t rows() const { return pieces * samples * length; }
  int64_t of_coordinate(int64_t c) const { return c < half ? first + c : second + c - half; }
  int64_t of_row(int64_t row) const {
    const auto piece = row / (samples * length);
    return of_coordinate(begin + piece * length + row % length);
  }
  bool operator==(const RowPositions&) const = default;
};

/// A run of equal weight decay inside a flat buffer, in elements.
struct DecayRange {
  int64_t begin = 0, end = 0;
  bool decays = false;
  bool operator==(const DecayRange&) const = default;
};

}  // namespace galvatron::core
