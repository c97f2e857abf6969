#pragma once
// Products of small packed blocks, the inside of attention: a register tile of rows × two vectors runs along
// the inner dim.

#include <cstdint>

namespace galvatron::kernels::GALVATRON_SIMD_LEVEL {

// The widest vector of the level that is being compiled is what its strictest alignment says.
constexpr int64_t vector_bytes = __BIGGEST_ALIGNMENT__ < 16 ? 16 : __BIGGEST_ALIGNMENT__;
using Vector = float __attribute__((vector_size(vector_bytes), aligned(4), may_alias));

using BitsVector = uint32_t __attribute__((vector_size(vector_bytes), aligned(4), may_alias));

constexpr int64_t lanes = vector_bytes / 4;
constexpr int64_t tile_cols = 2 * lanes;
constexpr int64_t tile_rows = lanes == 16 ? 12 : 6;  // 24 or 12 sums in 32 or 16 registers

constexpr int64_t padded(int64_t cols) {
  return (cols + tile_cols - 1) / tile_cols * tile_cols;
}

/// a(i, k) is a[i · row + k · col].
struct Left {
  const float* data;
  int64_t row, col;
};

/// b(k, j) is b[k · row + j].
struct Right {
  const float* data;
  int64_t row;
};

/// On a block that the causal diagonal crosses much is known to be zero or not wanted:
/// `above`: c(i, j) is wanted for j ≤ i only; `below`: for j ≥ i only. `inner_above`: a(i, k) is zero for k >
/// i; `inner_below`: for k < i.
enum class Skip { nothing, above, below, inner_above, inner_below };
enum class Store { overwrite, accumulate };

template <int rows>
inline void multiply_tile(int64_t inner, const Left& a, const Right& b, float* c, int64_t c_row,
                          Store store) {
  Vector sum[rows][2];
  for (int r = 0; r < rows; ++r) sum[r][0] = sum[r][1] = Vector{};
  const float* left = a.data;
  const float* right = b.data;
  for (int64_t k = 0; k < inner; ++k) {
    const auto low = *reinterpret_cast<const Vector*>(right);
    const auto high = *reinterpret_cast<const Vector*>(right + lanes);
#pragma GCC unroll 16
    for (int r = 0; r < rows; ++r) {
      const float value = left[r * a.row];
      sum[r][0] += value * low;
      sum[r][1] += value * high;
    }
    left += a.col;
    right += b.row;
  }
#pragma GCC unroll 16
  for (int r = 0; r < rows; ++r) {
    auto* out = reinterpret_cast<Vector*>(c + r * c_row);
    auto* next = reinterpret_cast<Vector*>(c + r * c_row + lanes);
    if (store == Store::accumulate) {
      sum[r][0] += *out;
      sum[r][1] += *next;
    }
    *out = sum[r][0];
    *next = sum[r][1];
  }
}

/// The last rows of a block: fewer than a full tile.
template <int rows>
inline void multiply_last_rows(int64_t count, int64_t inner, const Left& a, const Right& b, float* c,
                               int64_t c_row, Store store) {
  if (count == rows) {
    multiply_tile<rows>(inner, a, b, c, c_row, store);
  } else if constexpr (rows > 1) {
    multiply_last_rows<rows - 1>(count, inner, a, b, c, c_row, store);
  }
}

/// c (m × n) = or += a (m × inner) · b (inner × n), n a multiple of `tile_cols`. Tiles that
/// nobody wants keep what they held.
[[gnu::noinline]] inline void multiply(int64_t m, int64_t n, int64_t inner, Left a, Right b, float* c,
                                       int64_t c_row, Store store, Skip skip) {
  for (int64_t j = 0; j < n; j += tile_cols) {
    for (int64_t i = 0; i < m; i += tile_rows) {
      const auto rows = m - i < tile_rows ? m - i : tile_rows;
      if (skip == Skip::above && j >= i + rows) continue;
      if (skip == Skip::below && j + tile_cols <= i) continue;
      const int64_t from = skip == Skip::inner_below ? i : 0;
      const int64_t to = skip == Skip::inner_above && i + rows < inner ? i + rows : inner;
      const Left left{a.data + i * a.row + from * a.col, a.row, a.col};
      const Right right{b.data + from * b.row + j, b.row};
      auto* out = c + i * c_row + j;
      if (rows == tile_rows) {
        multiply_tile<tile_rows>(to - from, left, right, out, c_row, store);
      } else {
        multiply_last_rows<tile_rows - 1>(rows, to - from, left, right, out, c_row, store);
      }
    }
  }
}

}  // namespace galvatron::kernels::GALVATRON_SIMD_LEVEL
