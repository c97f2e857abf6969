#pragma once
// What every kernel and every message looks at: a matrix of elements somewhere in memory. Everything a
// transformer computes is a matrix (tokens × features) or a vector, so one two-dimensional look with a row
// stride serves all of them.

#include <cstddef>
#include <cstdint>

#include "core/dtype.hpp"

namespace galvatron::device {

/// A non-owning look at `rows` × `cols` elements; row i starts `row_stride` elements after row i−1. A vector
/// is one row. Element type and place are known at run time. `data` is null for an absent (optional) operand
/// and in dry runs.
struct TensorView {
  std::byte* data = nullptr;
  core::DType dtype = core::DType::f32;
  int64_t rows = 0;
  int64_t cols = 0;
  int64_t row_stride = 0;

  int64_t elements() const { return rows * cols; }
  int64_t bytes() const { return elements() * core::size_of(dtype); }
  bool contiguous() const { return rows <= 1 || row_stride == cols; }
  bool present() const { return rows > 0 && cols > 0; }

  template <class T>
  T* as() const {
    return reinterpret_cast<T*>(data);
  }

  /// Rows [begin, begin + count).
  TensorView row_range(int64_t begin, int64_t count) const {
    auto view = *this;
    if (view.data) view.data += begin * row_stride * core::size_of(dtype);
    view.rows = count;
    return view;
  }
};

/// A contiguous matrix at `data`.
inline TensorView matrix(void* data, core::DType dtype, int64_t rows, int64_t cols) {
  return {static_cast<std::byte*>(data), dtype, rows, cols, cols};
}

/// A contiguous vector at `data`.
inline TensorView vector(void* data, core::DType dtype, int64_t count) {
  return matrix(data, dtype, 1, count);
}

}  // namespace galvatron::device
