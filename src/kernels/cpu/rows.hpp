#pragma once
// Addresses inside views and the token order of attention, for the bodies of the cpu kernels.

#include <cstdint>

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

}  // namespace galvatron::kernels
