#pragma once
// The small vocabulary that programs and kernels share: which variant of a compute step or a collective is
// meant. It lives here because neither room may include the other.

#include <cstdint>

namespace galvatron::core {

enum class Transpose : uint8_t { no, yes };
enum class Write : uint8_t { overwrite, accumulate };
enum class NormKind : uint8_t { layernorm, rmsnorm };
enum class ActivationKind : uint8_t { gelu, swiglu };
/// The head's loss over vocabulary slices: `whole` when one rank holds all of it, else the other three with
/// reductions between.
enum class CrossEntropyPhase : uint8_t { whole, maximum, exponentials, gradient };
enum class CollectiveKind : uint8_t { all_reduce, all_gather, reduce_scatter, all_to_all, broadcast };
enum class ReduceOp : uint8_t { sum, max };
enum class OptimizerKind : uint8_t { adamw, sgd };

/// A run of equal weight decay inside a flat buffer, in elements.
struct DecayRange {
  int64_t begin = 0, end = 0;
  bool decays = false;
  bool operator==(const DecayRange&) const = default;
};

}  // namespace galvatron::core
