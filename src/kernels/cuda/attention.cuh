#pragma once
// What the kernels of attention share: where a head's tokens lie, which queries attend which keys, and
// products of tiles in shared memory. A block has 16 × 16 threads; thread (x, y) owns rows 4y … 4y + 3 of its
// tile of 64 and every 16th column from x on. Everything in shared memory is fp32.

#include "kernels/cuda/element.cuh"
#include "kernels/cuda/launch.cuh"
#include "kernels/cuda/tiles.cuh"
#include "kernels/kernels.hpp"

namespace galvatron::kernels::cuda {

/// What one part of an attention covers; see core::AttentionPart.
struct Cover {
  int64_t query_begin, query_end, key_end;
  bool causal;

  __host__ __device__ bool attends(int64_t query, int64_t key) const {
    return query >= query_begin && query < query_end && key < key_end && (!causal || key <= query);
  }
};

inline Cover cover_of(AttentionPart part, int64_t positions) {
  switch (part) {
    case AttentionPart::earlier:
      return {0, positions, positions / 2, false};
    case AttentionPart::later:
      return {positions / 2, positions, positions, false};
    case AttentionPart::diagonal:
      break;
  }
  return {0, positions, positions, true};
}

/// Numbers that all attention kernels need. Rows of tokens lie [piece][sample][position in piece].
struct AttentionDims {
  int64_t samples, positions, piece, heads, kv_heads, head_dim;
  Cover cover;
  float scale;

  __device__ int64_t row(int64_t sample, int64_t position) const {
    return position / piece * samples * piece + sample * piece + position % piece;
  }
  __host__ __device__ int64_t group() const { return heads / kv_heads; }
};

template <class Args>
AttentionDims dims_of(const Args& a) {
  AttentionDims d{};
  d.samples = a.samples;
  d.positions = a.positions;
  d.piece = std::max<int64_t>(a.positions / a.pieces, 1);
  d.heads = a.heads;
  d.kv_heads = a.kv_heads;
  d.head_dim = a.head_dim;
  d.cover = cover_of(a.part, a.positions);
  d.scale = static_cast<float>(a.scale);
  return d;
}

/// A result: of elements or of sums.
template <class T>
struct Result {
  Matrix<T> elements;
  Matrix<float> sums;  ///< where its data is not null
  bool accumulate;

  __device__ void put(int64_t row, int64_t column, float value) const {
    if (sums.data == nullptr) {
      elements.row(row)[column] = from_f32<T>(value);
    } else {
      float& to = sums.row(row)[column];
      to = accumulate ? to + value : value;
    }
  }
};

template <class T>
Result<T> result_of(const TensorView& view, Write write) {
  Result<T> out{};
  if (view.dtype == core::DType::f32) {
    out.sums = matrix_of<float>(view);
  } else {
    out.elements = matrix_of<T>(view);
  }
  out.accumulate = write == Write::accumulate;
  return out;
}

/// A head's columns of a matrix, and whether its rows can be read 16 bytes at a time.
template <class T>
struct Heads {
  Matrix<T> matrix;
  bool packs;
};

template <class T>
Heads<T> heads_of(const TensorView& view, int64_t head_dim) {
  return {matrix_of<T>(view), packable(wide<T>, head_dim, {view})};
}

/// Fetches positions [begin, begin + rows) of a head, `width` columns a row; what lies beyond the block's
/// positions or the head's columns is 0. The row's number is worked out once by each thread.
template <int width, class T>
__device__ void fetch_tile(const AttentionDims& d, const Heads<T>& from, int64_t sample, int64_t head,
                           int64_t begin, int rows, float* to) {
  const int threads_of_row = attention_threads / rows;
  const int r = static_cast<int>(threadIdx.x) / threads_of_row;
  const int first = static_cast<int>(threadIdx.x) % threads_of_row;
  const auto position = begin + r;
  const bool inside = position < d.positions;
  const T* at = from.matrix.row(inside ? d.row(sample, position) : 0) + head * d.head_dim;
  float* row = to + r * padded(width);
  if (from.packs) {
    constexpr int n = wide<T>;
    for (int j = first * n; j < width; j += threads_of_row * n) {
      if (inside && j < d.head_dim) {
        const auto pack = load<n>(at + j);
        for (int e = 0; e < n; ++e) row[j + e] = to_f32(pack.at[e]);
      } else {
        for (int e = 0; e < n; ++e) row[j + e] = 0.0F;
      }
    }
    return;
  }
  for (int j = first; j < width; j += threads_of_row)
    row[j] = inside && j < d.head_dim ? to_f32(at[j]) : 0.0F;
}

/// Columns of the widest tile.
constexpr int64_t most_width = 128;

/// body.operator()<width>() for the least width of a tile that holds the head.
template <class Body>
void by_width(int64_t head_dim, Body body) {
  GALV_ASSERT(head_dim <= most_width, head_dim);
  if (head_dim <= 32) return body.template operator()<32>();
  if (head_dim <= 64) return body.template operator()<64>();
  body.template operator()<128>();
}

}  // namespace galvatron::kernels::cuda
