#pragma once
// A layer's forward as operations on whole values, before steps exist: what the backward rules and the
// recompute policy look at.

#include <cstdint>
#include <string>
#include <vector>

#include "program/program.hpp"

namespace galvatron::program {

enum class OpKind : uint8_t {
  norm,
  linear,
  activation,
  attention,
  add,
  embedding,
  positions,
  gather_tokens,
  scatter_tokens,
  cross_entropy,
  rope,
  to_heads,
  to_tokens
};

/// One weight, or several that lie side by side. Indexes Tape::weights. `rows` > 0: only rows [row, row +
/// rows) of it (of a vector: elements).
struct WeightRef {
  int32_t first = -1;
  int32_t count = 0;
  int64_t row = 0, rows = 0;
  bool present() const { return count > 0; }
};

/// A declared parameter and the group it asked for.
struct DeclaredWeight {
  Parameter parameter;
  std::string group;  ///< empty: by its replicas
  bool split = false;
  Phase gradient_phase = Phase::backward;
};

struct Op {
  OpKind kind = OpKind::add;
  std::vector<ValueId> inputs;
  std::vector<ValueId> outputs;
  std::vector<WeightRef> weights;  ///< linear: weight, bias, weight, bias, …, one pair per stretch of columns
  Attributes attributes;
};

/// What backward finds in memory. A value that is not kept is derived again from what is, by the op that made
/// it.
enum class Keep : uint8_t { no, yes };

struct Tape {
  Program program;  ///< values and boundary ids so far; no steps yet
  std::vector<DeclaredWeight> weights;
  std::vector<Op> ops;
  std::vector<Keep> keep;  ///< one per value

  /// Index of the op that makes a value, or −1 for the layer's inputs.
  int64_t producer_of(ValueId value) const;
};

}  // namespace galvatron::program
