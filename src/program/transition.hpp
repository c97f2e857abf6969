#pragma once
// The way from one layout of the activations to another, as a Program: a layer without parameters, so cost,
// dry rehearsal and runtime treat it like any other.

#include <cstdint>

#include "program/program.hpp"
#include "spec/token_layout.hpp"

namespace galvatron::program {

struct TransitionContext {
  spec::TokenLayout from, to;  ///< of the same samples and positions on equally many ranks
  int64_t rank = 0;            ///< in the stage
  int64_t cols = 0;            ///< width of an activation
  core::DType dtype = core::DType::f32;
};

/// Phases forward, backward and evaluate: pack rows, one exchange over the whole stage, unpack rows. Rows
/// that stay are copied, rows that are sent from or received in one run are not. The input is not saved.
/// Every rank of the stage has the exchange, also one that neither sends nor receives.
Program transition(const TransitionContext& context);

/// The kind that such a Program's layer names.
inline constexpr const char* transition_kind = "transition";

}  // namespace galvatron::program
