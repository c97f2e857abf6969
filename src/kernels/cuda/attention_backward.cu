// The backward of attention in two walks, so that every sum has one owner and no atomic is needed: a block
// that owns 64 queries walks over keys for dq, one that owns 64 keys walks over queries, head by head of its
// group, for dk and dv. Both make the weights anew from the log-sum-exp. Workspace: per query and head Σ dout
// · out.

#include "kernels/cuda/attention_16.hpp"
#include "kernels/cuda/attention_operands.cuh"
#include "kernels/cuda/attention_wide.cuh"
#include "kernels/cuda/steps.hpp"

namespace galvatron::kernels::cuda {
namespace {

/// A warp per (row, head): delta = Σ dout · out. `Out`: elements or sums.
template <class T, class Out>
__global__ void delta_kernel(Matrix<T> dout, Matrix<Out> out, int64_t rows, int64_t heads, int64_t head_dim,
                             float* delta) {
  const int warps = static_cast<int>(blockDim.x) / 32;
  const int lane = static_cast<int>(threadIdx.x) % 32;
  for (int64_t n = static_cast<int64_t>(blockIdx.x) * warps + threadIdx.x / 32; n < rows * heads;
       n += static_cast<int64_t>(gridDim.x) * warps) {
    const T* a = dout.row(n / heads) + n % heads * head_dim;
    const Out* b = out.row(n / heads) + n % heads * head_dim;
    float sum = 0;
    for (int64_t j = lane; j < head_dim; j += 32) sum += to_f32(a[j]) * to_f32(b[j]);
    sum = warp_join(sum, Sum{});
    if (lane == 0) delta[n] = sum;
  }
}

/// Stores this thread's part of a tile of 64 rows from `begin` on.
template <int width, class T>
__device__ void put_tile(const AttentionDims& d, const Result<T>& to, int64_t sample, int64_t head,
                         int64_t begin, const float (&sum)[own_rows][width / side]) {
  const int x = static_cast<int>(threadIdx.x) % side;
  const auto first = begin + static_cast<int>(threadIdx.x) / side * own_rows;
  for (int i = 0; i < own_rows && first + i < d.positions; ++i) {
    const auto row = d.row(sample, first + i);
    for (int j = 0; j < width / side; ++j) {
      const int column = x + side * j;
      if (column < d.head_dim) to.put(row, head * d.head_dim + column, sum[i][j]);
    }
  }
}

/// Block: (tile of queries, sample, head). Shared: q, dout, k, v, slopes of the scores, lse, delta.
template <class T, int width>
__global__ void __launch_bounds__(attention_threads) query_gradient_kernel(BackwardOperands<T> a) {
  constexpr int others = other_rows(width);
  const auto& d = a.dims;
  float* q = reinterpret_cast<float*>(dynamic_shared);
  float* dout = q + tile_rows * padded(width);
  float* k = dout + tile_rows * padded(width);
  float* v = k + others * padded(width);
  float* slopes = v + others * padded(width);
  float* lse = slopes + tile_rows * padded(others);
  float* delta = lse + tile_rows;
  const auto per_tile = d.samples * d.heads;
  const auto head = blockIdx.x % d.heads;
  const auto sample = blockIdx.x % per_tile / d.heads;
  const auto begin = (gridDim.x / per_tile - 1 - blockIdx.x / per_tile) * tile_rows;  // most keys first
  const auto kv_head = head / d.group();
  const int x = static_cast<int>(threadIdx.x) % side;
  const int y = static_cast<int>(threadIdx.x) / side;
  const auto end = begin + tile_rows < d.cover.query_end ? begin + tile_rows : d.cover.query_end;
  const auto key_end = end <= d.cover.query_begin ? 0 : d.cover.causal ? end : d.cover.key_end;
  fetch_tile<width>(d, a.q, sample, head, begin, tile_rows, q);
  fetch_tile<width>(d, a.dout, sample, head, begin, tile_rows, dout);
  fetch_statistics(a, sample, head, begin, tile_rows, lse, delta);
  float dq[own_rows][width / side] = {};
  for (int64_t key = 0; key < key_end; key += others) {
    __syncthreads();  // the tiles before are read
    fetch_tile<width>(d, a.k, sample, kv_head, key, others, k);
    fetch_tile<width>(d, a.v, sample, kv_head, key, others, v);
    __syncthreads();
    float score[own_rows][others / side], slope[own_rows][others / side];
    multiply_rows<width>(q, k, score);
    multiply_rows<width>(dout, v, slope);
    for (int i = 0; i < own_rows; ++i) {
      const int r = y * own_rows + i;
      for (int j = 0; j < others / side; ++j) {
        const int c = x + side * j;
        const bool attends = d.cover.attends(begin + r, key + c);
        const float weight = attends ? expf(d.scale * score[i][j] - lse[r]) : 0.0F;
        slopes[r * padded(others) + c] = attends ? d.scale * weight * (slope[i][j] - delta[r]) : 0.0F;
      }
    }
    __syncthreads();
    add_product<width, others>(slopes, k, dq);
  }
  put_tile<width>(d, a.dq, sample, head, begin, dq);
}

/// Block: (tile of keys, sample, key/value head). Shared: k, v, q, dout, weights, slopes, lse, delta.
template <class T, int width>
__global__ void __launch_bounds__(attention_threads) key_gradient_kernel(BackwardOperands<T> a) {
  constexpr int others = other_rows(width);
  const auto& d = a.dims;
  float* k = reinterpret_cast<float*>(dynamic_shared);
  float* v = k + tile_rows * padded(width);
  float* q = v + tile_rows * padded(width);
  float* dout = q + others * padded(width);
  float* weights = dout + others * padded(width);
  float* slopes = weights + tile_rows * padded(others);
  float* lse = slopes + tile_rows * padded(others);
  float* delta = lse + others;
  const auto per_tile = d.samples * d.kv_heads;
  const auto kv_head = blockIdx.x % d.kv_heads;
  const auto sample = blockIdx.x % per_tile / d.kv_heads;
  const auto begin = static_cast<int64_t>(blockIdx.x / per_tile) * tile_rows;
  const int x = static_cast<int>(threadIdx.x) % side;
  const int y = static_cast<int>(threadIdx.x) / side;
  const auto first = (d.cover.causal ? begin : d.cover.query_begin) / others * others;
  const auto query_end = begin < d.cover.key_end ? d.cover.query_end : first;
  fetch_tile<width>(d, a.k, sample, kv_head, begin, tile_rows, k);
  fetch_tile<width>(d, a.v, sample, kv_head, begin, tile_rows, v);
  float dk[own_rows][width / side] = {};
  float dv[own_rows][width / side] = {};
  for (auto head = kv_head * d.group(); head < (kv_head + 1) * d.group(); ++head) {
    for (int64_t query = first; query < query_end; query += others) {
      __syncthreads();  // the tiles before are read
      fetch_tile<width>(d, a.q, sample, head, query, others, q);
      fetch_tile<width>(d, a.dout, sample, head, query, others, dout);
      fetch_statistics(a, sample, head, query, others, lse, delta);
      __syncthreads();
      float score[own_rows][others / side], slope[own_rows][others / side];
      multiply_rows<width>(k, q, score);
      multiply_rows<width>(v, dout, slope);
      for (int i = 0; i < own_rows; ++i) {
        const int r = y * own_rows + i;
        for (int j = 0; j < others / side; ++j) {
          const int c = x + side * j;
          const bool attends = d.cover.attends(query + c, begin + r);
          const float weight = attends ? expf(d.scale * score[i][j] - lse[c]) : 0.0F;
          weights[r * padded(others) + c] = weight;
          slopes[r * padded(others) + c] = attends ? d.scale * weight * (slope[i][j] - delta[c]) : 0.0F;
        }
      }
      __syncthreads();
      add_product<width, others>(weights, dout, dv);
      add_product<width, others>(slopes, q, dk);
    }
  }
  put_tile<width>(d, a.dk, sample, kv_head, begin, dk);
  put_tile<width>(d, a.dv, sample, kv_head, begin, dv);
}

/// Bytes of the larger of the two kernels: both own two tiles, see two others, and keep up to two of weights.
constexpr int64_t backward_shared_bytes(int width) {
  const int64_t others = other_rows(width);
  const auto floats =
      (2 * tile_rows + 2 * others) * padded(width) + 2 * tile_rows * (others + 4) + 2 * tile_rows;
  return floats * static_cast<int64_t>(sizeof(float));
}

template <class T>
void make_deltas(cudaStream_t stream, const AttentionBackwardArgs& args, float* delta) {
  const auto rows = args.samples * args.positions;
  const auto dout = matrix_of<T>(args.dout);
  const auto grid = line_grid(ceil_div(rows * args.heads, block_threads / 32));
  if (args.out.dtype == core::DType::f32) {
    launch(stream, grid, block_threads, 0, delta_kernel<T, float>, dout, matrix_of<float>(args.out), rows,
           args.heads, args.head_dim, delta);
  } else {
    launch(stream, grid, block_threads, 0, delta_kernel<T, T>, dout, matrix_of<T>(args.out), rows, args.heads,
           args.head_dim, delta);
  }
}

}  // namespace

int64_t attention_backward_bytes(const AttentionBackwardArgs& args) {
  return args.samples * args.positions * args.heads * static_cast<int64_t>(sizeof(float));
}

void attention_backward(cudaStream_t stream, const AttentionBackwardArgs& args) {
  if (args.samples * args.positions == 0) return;
  auto* delta = args.workspace.as<float>();
  by_element(args.q.dtype, [&]<class T>() { make_deltas<T>(stream, args, delta); });
  if (args.head_dim > most_width) {
    return by_element(args.q.dtype,
                      [&]<class T>() { wide_attention_backward(stream, backward_operands<T>(args, delta)); });
  }
  if (args.q.dtype != core::DType::f32) return attention_backward_16(stream, args, delta);
  const auto a = backward_operands<float>(args, delta);
  const auto tiles = ceil_div(args.positions, tile_rows) * args.samples;
  by_width(args.head_dim, [&]<int width>() {
    constexpr auto shared = backward_shared_bytes(width);
    launch(stream, block_grid(tiles * args.heads), attention_threads, shared,
           query_gradient_kernel<float, width>, a);
    launch(stream, block_grid(tiles * args.kv_heads), attention_threads, shared,
           key_gradient_kernel<float, width>, a);
  });
}

}  // namespace galvatron::kernels::cuda
