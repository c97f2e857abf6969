#pragma once
// What steps read and write. A Value says what it is and in which region of memory it lives; the planner
// gives it its offset there.

#include <cstdint>
#include <string>

#include "core/dtype.hpp"

namespace galvatron::program {

using ValueId = int32_t;
inline constexpr ValueId no_value = -1;

/// Where a value lives, hence how long.
enum class Storage : uint8_t {
  weights,         ///< a parameter group's flat buffer, whole: persistent, or gathered in scratch with ZeRO-3
  weight_shard,    ///< this rank's slice of it, persistent (with ZeRO < 3 a view of `weights`)
  gradients,       ///< flat gradients, whole: persistent, or unreduced in scratch with ZeRO ≥ 2
  gradient_shard,  ///< this rank's slice, persistent (with ZeRO < 2 a view of `gradients`)
  exp_avg,         ///< optimizer moments: whole with ZeRO 0, else this rank's slice
  exp_avg_sq,
  master,  ///< fp32 weights that the optimizer updates, beside 16-bit working ones: whole with ZeRO 0, else a
           ///< slice
  saved,   ///< from a micro-batch's forward to its backward
  work,    ///< inside one phase of one layer
  input,   ///< what comes from the layer before, where it is not saved: a transition's
  output,  ///< the layer's result: the next layer's saved input, or the buffer it is sent from
  output_gradient,  ///< the gradient that backward starts from
  input_gradient,   ///< the gradient that backward ends with
  loss,             ///< one f64: Σ of token losses of this rank
  gradient_norm,    ///< one f64: Σ of squared gradients of this rank
};

/// A matrix, rows × cols (a vector has one row). `offset` counts bytes from the start of its storage (of its
/// group's buffer for the six storages of parameters).
struct Value {
  std::string name;
  int64_t rows = 0;
  int64_t cols = 0;
  core::DType dtype = core::DType::f32;
  Storage storage = Storage::work;
  int32_t group = -1;
  int64_t offset = -1;

  int64_t elements() const { return rows * cols; }
  int64_t bytes() const { return elements() * core::size_of(dtype); }
};

/// A rectangle of a value.
struct Operand {
  ValueId value = no_value;
  int64_t row = 0, rows = 0;
  int64_t col = 0, cols = 0;

  bool present() const { return value != no_value; }
  bool operator==(const Operand&) const = default;
};

}  // namespace galvatron::program
