// Attention with online softmax (Milakov and Gimelshein, arXiv 1805.02867; Dao, arXiv 2307.08691): a block
// owns 64 queries of one head and walks over the keys that they attend. Merging with the results of other
// keys is where the walk begins: maximum = their log-sum-exp, sum = 1, accumulator = their output.

#include <cmath>

#include "kernels/cuda/attention_16.hpp"
#include "kernels/cuda/attention_operands.cuh"
#include "kernels/cuda/attention_wide.cuh"
#include "kernels/cuda/block.cuh"
#include "kernels/cuda/steps.hpp"

namespace galvatron::kernels::cuda {
namespace {

/// What a thread knows of its rows; the 16 threads that share them know the same.
template <int width>
struct Walk {
  float maximum[own_rows], sum[own_rows];
  float out[own_rows][width / side];
};

/// Turns scores into weights, stores them, and scales what has been summed so far to the new maximum.
template <int width, int columns>
__device__ void online_softmax(const Cover& cover, int64_t query, int64_t key,
                               float (&score)[own_rows][columns], Walk<width>& walk, float* weights) {
  const int x = static_cast<int>(threadIdx.x) % side;
  const int y = static_cast<int>(threadIdx.x) / side;
  for (int i = 0; i < own_rows; ++i) {
    float maximum = walk.maximum[i];
    for (int j = 0; j < columns; ++j) {
      // A row beyond the last query is computed as if it attended everything, and not stored.
      const bool attends = query + i >= cover.query_end || cover.attends(query + i, key + x + side * j);
      if (!attends) score[i][j] = -INFINITY;
      maximum = fmaxf(maximum, score[i][j]);
    }
    maximum = side_join(maximum, Maximum{});
    const float kept = expf(walk.maximum[i] - maximum);
    walk.maximum[i] = maximum;
    float sum = 0;
    for (int j = 0; j < columns; ++j) {
      const float weight = expf(score[i][j] - maximum);
      weights[(y * own_rows + i) * padded(columns * side) + x + side * j] = weight;
      sum += weight;
    }
    walk.sum[i] = walk.sum[i] * kept + side_join(sum, Sum{});
    for (int j = 0; j < width / side; ++j) walk.out[i][j] *= kept;
  }
}

template <int width, class T>
__device__ void begin_walk(const ForwardOperands<T>& a, int64_t sample, int64_t head, int64_t query,
                           Walk<width>& walk) {
  const int x = static_cast<int>(threadIdx.x) % side;
  for (int i = 0; i < own_rows; ++i) {
    const bool merges = a.out.accumulate && query + i < a.dims.cover.query_end;
    const auto row = merges ? a.dims.row(sample, query + i) : 0;
    walk.maximum[i] = merges ? a.lse.row(row)[head] : -INFINITY;
    walk.sum[i] = merges ? 1.0F : 0.0F;
    for (int j = 0; j < width / side; ++j) {
      const int column = x + side * j;
      const bool there = merges && column < a.dims.head_dim;
      walk.out[i][j] = there ? a.out.sums.row(row)[head * a.dims.head_dim + column] : 0.0F;
    }
  }
}

template <int width, class T>
__device__ void end_walk(const ForwardOperands<T>& a, int64_t sample, int64_t head, int64_t query,
                         const Walk<width>& walk) {
  const int x = static_cast<int>(threadIdx.x) % side;
  for (int i = 0; i < own_rows && query + i < a.dims.cover.query_end; ++i) {
    const auto row = a.dims.row(sample, query + i);
    const float inverse = 1.0F / walk.sum[i];
    for (int j = 0; j < width / side; ++j) {
      const int column = x + side * j;
      if (column >= a.dims.head_dim) continue;
      const auto at = head * a.dims.head_dim + column;
      const float value = walk.out[i][j] * inverse;
      if (a.out.sums.data != nullptr) {
        a.out.sums.row(row)[at] = value;  // what was there is in the walk
      } else {
        a.out.elements.row(row)[at] = from_f32<T>(value);
      }
    }
    if (x == 0) a.lse.row(row)[head] = walk.maximum[i] + logf(walk.sum[i]);
  }
}

/// Block: (tile of queries, sample, head), the tiles with most keys first. Shared: queries, then keys or
/// values, then weights.
template <class T, int width>
__global__ void __launch_bounds__(attention_threads) attention_kernel(ForwardOperands<T> a) {
  constexpr int others = tile_rows;
  const auto& d = a.dims;
  float* queries = reinterpret_cast<float*>(dynamic_shared);
  float* other = queries + tile_rows * padded(width);
  float* weights = other + others * padded(width);
  const auto per_tile = d.samples * d.heads;
  const auto tile = a.tiles - 1 - blockIdx.x / per_tile;
  const auto sample = blockIdx.x % per_tile / d.heads;
  const auto head = blockIdx.x % d.heads;
  const auto kv_head = head / d.group();
  const auto begin = d.cover.query_begin + tile * tile_rows;
  const auto query = begin + static_cast<int>(threadIdx.x) / side * own_rows;  // this thread's first
  const auto last = begin + tile_rows < d.cover.query_end ? begin + tile_rows : d.cover.query_end;
  const auto key_end = d.cover.causal ? last : d.cover.key_end;
  Walk<width> walk;
  begin_walk(a, sample, head, query, walk);
  fetch_tile<width>(d, a.q, sample, head, begin, tile_rows, queries);
  for (int64_t key = 0; key < key_end; key += others) {
    __syncthreads();  // the values before are read
    fetch_tile<width>(d, a.k, sample, kv_head, key, others, other);
    __syncthreads();
    float score[own_rows][others / side];
    multiply_rows<width>(queries, other, score);
    for (auto& row : score) {
      for (float& s : row) s *= d.scale;
    }
    online_softmax(d.cover, query, key, score, walk, weights);
    __syncthreads();  // the keys are read
    fetch_tile<width>(d, a.v, sample, kv_head, key, others, other);
    __syncthreads();
    add_product<width, others>(weights, other, walk.out);
  }
  end_walk(a, sample, head, query, walk);
}

constexpr int64_t shared_bytes(int width) {
  return (2 * tile_rows * padded(width) + tile_rows * padded(tile_rows)) *
         static_cast<int64_t>(sizeof(float));
}

}  // namespace

void attention(cudaStream_t stream, const AttentionArgs& args) {
  if (args.samples * args.positions == 0) return;
  if (args.head_dim > most_width) {
    return by_element(args.q.dtype, [&]<class T>() {
      wide_attention(stream, dims_of(args), matrix_of<T>(args.q), matrix_of<T>(args.k), matrix_of<T>(args.v),
                     result_of<T>(args.out, args.write), matrix_of<float>(args.lse));
    });
  }
  if (args.q.dtype != core::DType::f32) return attention_16(stream, args);
  const auto a = forward_operands<float>(args);
  by_width(args.head_dim, [&]<int width>() {
    launch(stream, block_grid(a.tiles * args.samples * args.heads), attention_threads, shared_bytes(width),
           attention_kernel<float, width>, a);
  });
}

}  // namespace galvatron::kernels::cuda
