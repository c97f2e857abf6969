#pragma once
// Products of tiles in shared memory, all fp32. A block has 16 × 16 threads; thread (x, y) owns rows 4y … 4y
// + 3 of the block's tile of 64 and every 16th column from x on.

#include <cuda_runtime.h>

namespace galvatron::kernels::cuda {

constexpr int tile_rows = 64;  // rows of the tile that a block owns
constexpr int side = 16;
constexpr int own_rows = tile_rows / side;
constexpr int attention_threads = side * side;

/// Floats between the rows of a tile: rows start in different banks, and in 16 bytes each.
__host__ __device__ constexpr int padded(int columns) {
  return columns + 4;
}

/// Rows of the other tile, which travels past the block's own: fewer where rows are long.
__host__ __device__ constexpr int other_rows(int width) {
  return width > 64 ? 32 : 64;
}

/// sum[i][j] = own row 4y + i · other row x + 16 j.
template <int width, int columns>
__device__ void multiply_rows(const float* own, const float* other, float (&sum)[own_rows][columns]) {
  const int x = static_cast<int>(threadIdx.x) % side;
  const int y = static_cast<int>(threadIdx.x) / side;
  for (int i = 0; i < own_rows; ++i) {
    for (int j = 0; j < columns; ++j) sum[i][j] = 0.0F;
  }
#pragma unroll 4
  for (int d = 0; d < width; d += 4) {
    float4 b[columns];
    for (int j = 0; j < columns; ++j)
      b[j] = *reinterpret_cast<const float4*>(other + (x + side * j) * padded(width) + d);
    for (int i = 0; i < own_rows; ++i) {
      const float4 a = *reinterpret_cast<const float4*>(own + (y * own_rows + i) * padded(width) + d);
      for (int j = 0; j < columns; ++j)
        sum[i][j] += a.x * b[j].x + a.y * b[j].y + a.z * b[j].z + a.w * b[j].w;
    }
  }
}

/// sum[i][j] += Σ over k of weights[4y + i][k] · other[k][x + 16 j].
template <int width, int others>
__device__ void add_product(const float* weights, const float* other, float (&sum)[own_rows][width / side]) {
  const int x = static_cast<int>(threadIdx.x) % side;
  const int y = static_cast<int>(threadIdx.x) / side;
#pragma unroll 2
  for (int k = 0; k < others; k += 4) {
    float4 w[own_rows];
    for (int i = 0; i < own_rows; ++i)
      w[i] = *reinterpret_cast<const float4*>(weights + (y * own_rows + i) * padded(others) + k);
    for (int j = 0; j < width / side; ++j) {
      const float* column = other + k * padded(width) + x + side * j;
      const float b0 = column[0];
      const float b1 = column[padded(width)];
      const float b2 = column[2 * padded(width)];
      const float b3 = column[3 * padded(width)];
      for (int i = 0; i < own_rows; ++i) sum[i][j] += w[i].x * b0 + w[i].y * b1 + w[i].z * b2 + w[i].w * b3;
    }
  }
}

/// Joins the values of the 16 threads that share rows.
template <class Join>
__device__ float side_join(float value, Join join) {
  for (int distance = side / 2; distance > 0; distance /= 2)
    value = join(value, __shfl_xor_sync(0xffffffffU, value, distance));
  return value;
}

}  // namespace galvatron::kernels::cuda
