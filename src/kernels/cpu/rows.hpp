#pragma once
// Addresses inside views and the token order of attention, for the bodies of the cpu kernels.

#include <cstdint>

#include "core/compute.hpp"
#include "device/tensor.hpp"

namespace galvatron::kernels {

template <class T>
T* row(const device::TensorView& view, int64_t i) {
  return view.as<T>() + i * view.row_stride;
}

/// Which row holds position p of sample s: tokens are ordered [piece][sample][position in piece].
struct TokenOrder {
  int64_t samples = 0;
  int64_t piece = 0;  ///< positions in a piece

  int64_t row(int64_t sample, int64_t position) const {
    return position / piece * samples * piece + sample * piece + position % piece;
  }
};

template <class Args>
TokenOrder token_order(const Args& args) {
  return {args.samples, args.positions / args.pieces};
}

/// What one part of an attention covers: the queries [query_begin, query_end), each with the keys
/// [0, key_end), or, where causal, those up to its own position.
struct AttentionSpan {
  int64_t query_begin, query_end, key_end;
  bool causal;

  int64_t keys_of(int64_t query) const { return causal ? query + 1 : key_end; }
};

inline AttentionSpan attention_span(core::AttentionPart part, int64_t positions) {
  switch (part) {
    case core::AttentionPart::earlier:
      return {0, positions, positions / 2, false};
    case core::AttentionPart::later:
      return {positions / 2, positions, positions, false};
    case core::AttentionPart::diagonal:
      break;
  }
  return {0, positions, positions, true};
}

}  // namespace galvatron::kernels
