// Products of any shape, stride and alignment, for what cuBLASLt has no kernel for: tiles of 64 × 64 in
// shared memory, 4 × 4 sums a thread, in fp32.

#include "kernels/cuda/element.cuh"
#include "kernels/cuda/launch.cuh"
#include "kernels/cuda/steps.hpp"

namespace galvatron::kernels::cuda {
namespace {

constexpr int tile = 64;
constexpr int depth = 16;  // of the inner dim
constexpr int side = 16;   // threads along each edge of a tile
constexpr int own = tile / side;

template <class T>
struct GemmOperands {
  Matrix<T> a, b, c;
  Matrix<float> sums;  ///< instead of c where its data is not null
  const T* bias;
  int64_t m, n, k;
  bool transpose_a, transpose_b, accumulate;
};

/// Elements [row, row + tile) × [inner, inner + depth) of a matrix, `turned` when its rows are the inner dim;
/// what lies outside is 0.
template <class T>
__device__ void fetch(const Matrix<T>& from, bool turned, int64_t row, int64_t rows, int64_t inner,
                      int64_t inners, float (*to)[tile + 1]) {
  for (int n = static_cast<int>(threadIdx.x); n < tile * depth; n += block_threads) {
    const int r = turned ? n % tile : n / depth;
    const int i = turned ? n / tile : n % depth;
    const bool inside = row + r < rows && inner + i < inners;
    const auto* at = turned ? from.row(inner + i) + row + r : from.row(row + r) + inner + i;
    to[i][r] = inside ? to_f32(*at) : 0.0F;
  }
}

template <class T>
__device__ void put(const GemmOperands<T>& g, int64_t i, int64_t j, float sum) {
  if (g.bias != nullptr) sum += to_f32(g.bias[j]);
  if (g.sums.data == nullptr) {
    g.c.row(i)[j] = from_f32<T>(sum);
  } else {
    float& to = g.sums.row(i)[j];
    to = g.accumulate ? to + sum : sum;
  }
}

template <class T>
__global__ void gemm_kernel(GemmOperands<T> g) {
  __shared__ float a[depth][tile + 1], b[depth][tile + 1];
  const int tx = static_cast<int>(threadIdx.x) % side;
  const int ty = static_cast<int>(threadIdx.x) / side;
  const auto column = static_cast<int64_t>(blockIdx.x) * tile;
  for (int64_t row = static_cast<int64_t>(blockIdx.y) * tile; row < g.m;
       row += static_cast<int64_t>(gridDim.y) * tile) {
    float sum[own][own] = {};
    for (int64_t k = 0; k < g.k; k += depth) {
      __syncthreads();
      fetch(g.a, g.transpose_a, row, g.m, k, g.k, a);
      fetch(g.b, !g.transpose_b, column, g.n, k, g.k, b);
      __syncthreads();
      for (int d = 0; d < depth; ++d) {
        for (int i = 0; i < own; ++i) {
          for (int j = 0; j < own; ++j) sum[i][j] += a[d][ty + side * i] * b[d][tx + side * j];
        }
      }
    }
    for (int i = 0; i < own; ++i) {
      for (int j = 0; j < own; ++j) {
        const auto at_row = row + ty + side * i;
        const auto at_column = column + tx + side * j;
        if (at_row < g.m && at_column < g.n) put(g, at_row, at_column, sum[i][j]);
      }
    }
  }
}

}  // namespace

void gemm_by_tiles(cudaStream_t stream, const GemmArgs& args) {
  by_element(args.a.dtype, [&]<class T>() {
    GemmOperands<T> g{};
    g.a = matrix_of<T>(args.a);
    g.b = matrix_of<T>(args.b);
    if (args.c.dtype == core::DType::f32) {
      g.sums = matrix_of<float>(args.c);
    } else {
      g.c = matrix_of<T>(args.c);
    }
    g.bias = vector_of<T>(args.bias);
    g.m = args.c.rows;
    g.n = args.c.cols;
    g.k = args.transpose_a == Transpose::yes ? args.a.rows : args.a.cols;
    g.transpose_a = args.transpose_a == Transpose::yes;
    g.transpose_b = args.transpose_b == Transpose::yes;
    g.accumulate = args.write == Write::accumulate;
    const dim3 grid(static_cast<unsigned>(ceil_div(g.n, tile)),
                    static_cast<unsigned>(std::min<int64_t>(ceil_div(g.m, tile), 65535)));
    launch(stream, grid, block_threads, 0, gemm_kernel<T>, g);
  });
}

}  // namespace galvatron::kernels::cuda
