#pragma once
// Tiles of 64 rows of 16-bit elements in shared memory and their products by tensor cores. A block has four
// warps; each owns 16 rows of the block's tile. Rows are padded so that the words a warp reads together lie
// in different banks. "Turned" tiles hold a head's columns as rows: an operand whose inner dim is the tokens.

#include "kernels/cuda/attention.cuh"
#include "kernels/cuda/mma.cuh"

namespace galvatron::kernels::cuda {

constexpr int warp_threads = 128;
constexpr int warp_rows = 16;
constexpr int key_groups = tile_rows / 8;  // groups of 8 columns in 64 scores

__host__ __device__ constexpr int padded16(int columns) {
  return columns + 8;
}

/// Elements of a tile, and of a turned one.
__host__ __device__ constexpr int tile_elements(int width) {
  return tile_rows * padded16(width);
}
__host__ __device__ constexpr int turned_elements(int width) {
  return width * padded16(tile_rows);
}

/// Where this thread stands in its warp's products.
struct Lane {
  int row;    ///< of the block's tile; the lane's other row is 8 below
  int group;  ///< lane / 4
  int pair;   ///< 2 · (lane % 4): the first of two columns

  __device__ Lane() {
    const int lane = static_cast<int>(threadIdx.x) % 32;
    group = lane / 4;
    pair = lane % 4 * 2;
    row = static_cast<int>(threadIdx.x) / 32 * warp_rows + group;
  }
};

template <class T>
__device__ unsigned pair_at(const T* at) {
  return *reinterpret_cast<const unsigned*>(at);
}

template <class T>
__device__ unsigned pair_of(float low, float high) {
  const Pack<T, 2> pack{{from_f32<T>(low), from_f32<T>(high)}};
  unsigned bits = 0;
  memcpy(&bits, &pack, sizeof(bits));
  return bits;
}

/// Fetches 64 positions from `begin` on, as rows into `to` and turned into `turned`; either may be null. What
/// lies beyond the positions or the head's columns is 0.
template <int width, class T>
__device__ void fetch_tile16(const AttentionDims& d, const Heads<T>& from, int64_t sample, int64_t head,
                             int64_t begin, T* to, T* turned) {
  constexpr int n = wide<T>;
  const int r = static_cast<int>(threadIdx.x) % tile_rows;
  const auto position = begin + r;
  const bool inside = position < d.positions;
  const T* at = from.matrix.row(inside ? d.row(sample, position) : 0) + head * d.head_dim;
  for (int j = static_cast<int>(threadIdx.x) / tile_rows * n; j < width; j += warp_threads / tile_rows * n) {
    Pack<T, n> pack;
    if (inside && from.packs && j < d.head_dim) {
      pack = load<n>(at + j);
    } else {
      for (int e = 0; e < n; ++e) pack.at[e] = inside && j + e < d.head_dim ? at[j + e] : from_f32<T>(0.0F);
    }
    if (to != nullptr) store<n>(to + r * padded16(width) + j, pack);
    for (int e = 0; turned != nullptr && e < n; ++e) turned[(j + e) * padded16(tile_rows) + r] = pack.at[e];
  }
}

/// score = the warp's 16 own rows · 64 other rows, over `width` columns.
template <int width, class T>
__device__ void warp_scores(const Lane& lane, const T* own, const T* other, float (&score)[key_groups][4]) {
  constexpr int stride = padded16(width);
  for (auto& group : score) {
    for (float& s : group) s = 0.0F;
  }
  const T* rows = own + lane.row * stride + lane.pair;
  const T* columns = other + lane.group * stride + lane.pair;
#pragma unroll
  for (int k = 0; k < width; k += 16) {
    const unsigned a[4] = {pair_at(rows + k), pair_at(rows + 8 * stride + k), pair_at(rows + k + 8),
                           pair_at(rows + 8 * stride + k + 8)};
#pragma unroll
    for (int n = 0; n < key_groups; ++n) {
      const T* b = columns + n * 8 * stride + k;
      warp_multiply_add<T>(score[n], a, pair_at(b), pair_at(b + 8));
    }
  }
}

/// sum (16 × width) += weights (16 × 64, rounded to T) · the tile that `turned` holds turned.
template <int width, class T>
__device__ void warp_add_product(const Lane& lane, const float (&weights)[key_groups][4], const T* turned,
                                 float (&sum)[width / 8][4]) {
  constexpr int stride = padded16(tile_rows);
  const T* columns = turned + lane.group * stride + lane.pair;
#pragma unroll
  for (int k = 0; k < tile_rows / 16; ++k) {
    const auto& left = weights[2 * k];
    const auto& right = weights[2 * k + 1];
    const unsigned a[4] = {pair_of<T>(left[0], left[1]), pair_of<T>(left[2], left[3]),
                           pair_of<T>(right[0], right[1]), pair_of<T>(right[2], right[3])};
#pragma unroll
    for (int n = 0; n < width / 8; ++n) {
      const T* b = columns + n * 8 * stride + 16 * k;
      warp_multiply_add<T>(sum[n], a, pair_at(b), pair_at(b + 8));
    }
  }
}

/// One of this thread's sums: its row in the block's tile, its column, and its place in registers.
struct Place {
  int row, column;
  int group, element;

  /// 0: the lane's first row, 1: its second.
  __device__ int which() const { return element / 2; }
};

/// body(place, value) for each of this thread's sums. Unrolled, so that places in registers are constants.
template <int groups, class Body>
__device__ void each_sum(const Lane& lane, float (&sum)[groups][4], Body body) {
#pragma unroll
  for (int n = 0; n < groups; ++n) {
#pragma unroll
    for (int e = 0; e < 4; ++e)
      body(Place{lane.row + 8 * (e / 2), n * 8 + lane.pair + e % 2, n, e}, sum[n][e]);
  }
}

}  // namespace galvatron::kernels::cuda
