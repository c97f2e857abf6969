#pragma once
// The words in which a layer's forward is written. Each call appends one operation to a tape; steps,
// backward, sharding and memory all follow from the tape, so a layer kind is written once and reads like the
// paper.

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "program/heads.hpp"
#include "program/lower.hpp"
#include "program/tape.hpp"

namespace galvatron::program {

/// Which dim of a weight is divided over tp.
enum class Split : uint8_t { none, rows, cols };

/// How a weight starts and where it is kept.
struct WeightOptions {
  Split split = Split::none;
  InitKind init = InitKind::normal;
  double std = 0.02;
  std::string owner = {};  ///< the layer whose tensor this is, when tied to another
  /// Kept in a group of its own: tied tensors, and those whose gradient is complete in forward.
  std::string group = {};
  Phase gradient_phase = Phase::backward;
};

class Builder {
 public:
  Builder(const spec::LayerSpec& layer, const LayerContext& context);

  const spec::LayerDims& dims() const { return layer_.dims; }
  const LayerContext& context() const { return context_; }

  /// The layer's input activation: this rank's tokens × hidden.
  ValueId input();
  /// Ids of all tokens of this rank's tp group, i32, 1 × gathered rows. Labels likewise.
  ValueId tokens();
  ValueId labels();

  /// A parameter tensor; rows × cols of the whole one ([out, in]; a vector has one row). Split dims need not
  /// divide: the last piece is padded (only vocabulary does that; other kinds check divisibility first).
  WeightRef weight(const std::string& name, int64_t rows, int64_t cols, const WeightOptions& options = {});
  WeightRef vector(const std::string& name, int64_t size, InitKind init, Split split = Split::none);
  /// Consecutive weights as one matrix, stacked by rows (vectors: one after the other).
  WeightRef stack(std::initializer_list<WeightRef> weights);
  /// Rows (of a vector: elements) [row, row + rows) of a weight that the ranks of tp hold whole.
  static WeightRef rows_of(WeightRef weight, int64_t row, int64_t rows);

  /// The model's kind of norm.
  ValueId norm(ValueId x, const std::string& name);
  /// x · wᵀ (+ bias).
  ValueId linear(ValueId x, WeightRef weight, WeightRef bias = {});
  /// The same for weights that do not lie side by side: their results are neighbouring columns.
  ValueId linear(ValueId x, const std::vector<std::pair<WeightRef, WeightRef>>& weights_and_biases);
  /// The model's activation; swiglu reads gate columns, then up columns.
  ValueId activation(ValueId x);
  /// Columns are the query heads, key heads, value heads of this rank's tp index (`HeadDeal`). Turns queries
  /// and keys by their positions (RoPE).
  ValueId rope(ValueId qkv);
  /// Ulysses: from some positions of all heads of the tp index to all positions of the context-parallel block
  /// of some heads, and back; nothing when sp = 1.
  ValueId tokens_to_heads(ValueId qkv);
  ValueId heads_to_tokens(ValueId x);
  /// Causal attention over the whole sample; with cp > 1 keys and values travel around the ring.
  ValueId attention(ValueId qkv);
  /// a + b (+ bias on every row).
  ValueId add(ValueId a, ValueId b, WeightRef bias = {});
  ValueId embedding(ValueId ids, WeightRef table);
  ValueId positions(ValueId x, WeightRef table);
  /// Gather tokens over tp on entry to a tensor-parallel part, reduce-scatter them on leaving; nothing when
  /// tp = 1.
  ValueId enter_tensor_parallel(ValueId x);
  ValueId leave_tensor_parallel(ValueId x);
  /// Next-token loss of h · tableᵀ, and with it the gradients of both, chunk by chunk.
  void cross_entropy(ValueId h, WeightRef table, ValueId labels);

  /// Rows of this rank's tokens, and of its whole tp group's.
  int64_t rows() const { return rows_; }
  int64_t gathered_rows() const { return rows_ * context_.strategy.tp; }
  /// Heads of this rank, in a layer that has some.
  const HeadDeal& heads();

  /// The finished tape with `output` as the layer's result (none in the head).
  Tape finish(std::optional<ValueId> output);

 private:
  /// Rounded up.
  int64_t share(int64_t n) const { return (n + context_.strategy.tp - 1) / context_.strategy.tp; }
  /// Positions of rows in `pieces` equal pieces that follow each other from coordinate `begin` on.
  core::RowPositions positions_of(int64_t pieces, int64_t begin) const;
  core::DType accumulator() const { return core::accumulator_of(context_.dtype); }
  ValueId new_value(std::string name, int64_t rows, int64_t cols, core::DType dtype, Storage storage);
  ValueId computed(const std::string& name, int64_t rows, int64_t cols);
  ValueId saved_ids(const std::string& name);

  spec::LayerSpec layer_;
  LayerContext context_;
  int64_t rows_ = 0;
  std::optional<HeadDeal> heads_;
  Tape tape_;
};

}  // namespace galvatron::program
