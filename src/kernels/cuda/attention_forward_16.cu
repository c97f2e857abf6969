// The forward of attention on 16-bit elements by tensor cores; the walk is that of attention_forward.cu.
// Weights are rounded to the elements' type before they meet the values, their sum is not.

#include <cmath>

#include "kernels/cuda/attention_16.hpp"
#include "kernels/cuda/attention_operands.cuh"
#include "kernels/cuda/block.cuh"
#include "kernels/cuda/warp_tiles.cuh"

namespace galvatron::kernels::cuda {
namespace {

/// What a thread knows of its two rows; the four lanes that share them know the same.
template <int width>
struct Walk {
  float maximum[2], sum[2];
  float out[width / 8][4];
};

template <class Join>
__device__ float quad_join(float value, Join join) {
  value = join(value, __shfl_xor_sync(whole_warp, value, 1));
  return join(value, __shfl_xor_sync(whole_warp, value, 2));
}

/// Turns scores into weights and scales what has been summed so far to the new maximum.
template <int width>
__device__ void online_softmax(const Lane& lane, const AttentionDims& d, int64_t query, int64_t key,
                               float (&score)[key_groups][4], Walk<width>& walk) {
  float maximum[2] = {walk.maximum[0], walk.maximum[1]};
  each_sum(lane, score, [&](const Place& at, float& s) {
    // A row beyond the last query is computed as if it attended everything, and not stored.
    const bool attends =
        query + at.row >= d.cover.query_end || d.cover.attends(query + at.row, key + at.column);
    s = attends ? s * d.scale : -INFINITY;
    maximum[at.which()] = fmaxf(maximum[at.which()], s);
  });
  float kept[2], sum[2] = {0, 0};
  for (int which = 0; which < 2; ++which) {
    maximum[which] = quad_join(maximum[which], Maximum{});
    kept[which] = expf(walk.maximum[which] - maximum[which]);
    walk.maximum[which] = maximum[which];
  }
  each_sum(lane, score, [&](const Place& at, float& s) {
    s = expf(s - maximum[at.which()]);
    sum[at.which()] += s;
  });
  for (int which = 0; which < 2; ++which)
    walk.sum[which] = walk.sum[which] * kept[which] + quad_join(sum[which], Sum{});
  each_sum(lane, walk.out, [&](const Place& at, float& o) { o *= kept[at.which()]; });
}

template <int width, class T>
__device__ void begin_walk(const Lane& lane, const ForwardOperands<T>& a, int64_t sample, int64_t head,
                           int64_t query, Walk<width>& walk) {
  const auto& d = a.dims;
  bool merges[2];
  int64_t rows[2];
  for (int which = 0; which < 2; ++which) {
    const auto position = query + lane.row + 8 * which;
    merges[which] = a.out.accumulate && position < d.cover.query_end;
    rows[which] = merges[which] ? d.row(sample, position) : 0;
    walk.maximum[which] = merges[which] ? a.lse.row(rows[which])[head] : -INFINITY;
    walk.sum[which] = merges[which] ? 1.0F : 0.0F;
  }
  each_sum(lane, walk.out, [&](const Place& at, float& o) {
    const bool there = merges[at.which()] && at.column < d.head_dim;
    o = there ? a.out.sums.row(rows[at.which()])[head * d.head_dim + at.column] : 0.0F;
  });
}

template <int width, class T>
__device__ void end_walk(const Lane& lane, const ForwardOperands<T>& a, int64_t sample, int64_t head,
                         int64_t query, Walk<width>& walk) {
  const auto& d = a.dims;
  int64_t rows[2];
  for (int which = 0; which < 2; ++which) {
    const auto position = query + lane.row + 8 * which;
    rows[which] = position < d.cover.query_end ? d.row(sample, position) : -1;
    if (rows[which] >= 0 && lane.pair == 0)
      a.lse.row(rows[which])[head] = walk.maximum[which] + logf(walk.sum[which]);
  }
  each_sum(lane, walk.out, [&](const Place& at, float& o) {
    const auto row = rows[at.which()];
    if (row < 0 || at.column >= d.head_dim) return;
    const float value = o / walk.sum[at.which()];
    const auto column = head * d.head_dim + at.column;
    if (a.out.sums.data != nullptr) {
      a.out.sums.row(row)[column] = value;  // what was there is in the walk
    } else {
      a.out.elements.row(row)[column] = from_f32<T>(value);
    }
  });
}

/// Block: (tile of queries, sample, head), the tiles with most keys first. Shared: queries, keys, turned
/// values.
template <class T, int width>
__global__ void __launch_bounds__(warp_threads) attention_16_kernel(ForwardOperands<T> a) {
  const auto& d = a.dims;
  T* queries = reinterpret_cast<T*>(dynamic_shared);
  T* keys = queries + tile_elements(width);
  T* values = keys + tile_elements(width);
  const Lane lane;
  const auto per_tile = d.samples * d.heads;
  const auto tile = a.tiles - 1 - blockIdx.x / per_tile;
  const auto sample = blockIdx.x % per_tile / d.heads;
  const auto head = blockIdx.x % d.heads;
  const auto kv_head = head / d.group();
  const auto query = d.cover.query_begin + tile * tile_rows;
  const auto last = query + tile_rows < d.cover.query_end ? query + tile_rows : d.cover.query_end;
  const auto key_end = d.cover.causal ? last : d.cover.key_end;
  Walk<width> walk;
  begin_walk(lane, a, sample, head, query, walk);
  fetch_tile16<width>(d, a.q, sample, head, query, queries, static_cast<T*>(nullptr));
  for (int64_t key = 0; key < key_end; key += tile_rows) {
    __syncthreads();  // the tiles before are read
    fetch_tile16<width>(d, a.k, sample, kv_head, key, keys, static_cast<T*>(nullptr));
    fetch_tile16<width>(d, a.v, sample, kv_head, key, static_cast<T*>(nullptr), values);
    __syncthreads();
    float score[key_groups][4];
    warp_scores<width>(lane, queries, keys, score);
    online_softmax(lane, d, query, key, score, walk);
    warp_add_product<width>(lane, score, values, walk.out);
  }
  end_walk(lane, a, sample, head, query, walk);
}

template <class T>
void run(cudaStream_t stream, const AttentionArgs& args) {
  const auto a = forward_operands<T>(args);
  by_width(args.head_dim, [&]<int width>() {
    launch(stream, block_grid(a.tiles * args.samples * args.heads), warp_threads,
           (2 * tile_elements(width) + turned_elements(width)) * 2, attention_16_kernel<T, width>, a);
  });
}

}  // namespace

void attention_16(cudaStream_t stream, const AttentionArgs& args) {
  if (args.q.dtype == core::DType::bf16) return run<__nv_bfloat16>(stream, args);
  run<__half>(stream, args);
}

}  // namespace galvatron::kernels::cuda
