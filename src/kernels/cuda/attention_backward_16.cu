// The backward of attention on 16-bit elements by tensor cores; the two walks are those of
// attention_backward.cu. Weights and the gradients of scores are rounded to the elements' type before they
// meet rows.

#include <cmath>

#include "kernels/cuda/attention_16.hpp"
#include "kernels/cuda/attention_operands.cuh"
#include "kernels/cuda/warp_tiles.cuh"

namespace galvatron::kernels::cuda {
namespace {

template <int width, class T>
__device__ void put_tile(const Lane& lane, const AttentionDims& d, const Result<T>& to, int64_t sample,
                         int64_t head, int64_t begin, float (&sum)[width / 8][4]) {
  int64_t rows[2];
  for (int which = 0; which < 2; ++which) {
    const auto position = begin + lane.row + 8 * which;
    rows[which] = position < d.positions ? d.row(sample, position) : -1;
  }
  each_sum(lane, sum, [&](const Place& at, float& value) {
    const auto row = rows[at.which()];
    if (row >= 0 && at.column < d.head_dim) to.put(row, head * d.head_dim + at.column, value);
  });
}

/// Block: (tile of queries, sample, head). Shared: q, dout, k, v, turned k, lse, delta.
template <class T, int width>
__global__ void __launch_bounds__(warp_threads) query_gradient_16_kernel(BackwardOperands<T> a) {
  const auto& d = a.dims;
  T* q = reinterpret_cast<T*>(dynamic_shared);
  T* dout = q + tile_elements(width);
  T* k = dout + tile_elements(width);
  T* v = k + tile_elements(width);
  T* turned = v + tile_elements(width);
  float* lse = reinterpret_cast<float*>(turned + turned_elements(width));
  float* delta = lse + tile_rows;
  const Lane lane;
  const auto per_tile = d.samples * d.heads;
  const auto head = blockIdx.x % d.heads;
  const auto sample = blockIdx.x % per_tile / d.heads;
  const auto begin = (gridDim.x / per_tile - 1 - blockIdx.x / per_tile) * tile_rows;  // most keys first
  const auto kv_head = head / d.group();
  const auto end = begin + tile_rows < d.cover.query_end ? begin + tile_rows : d.cover.query_end;
  const auto key_end = end <= d.cover.query_begin ? 0 : d.cover.causal ? end : d.cover.key_end;
  fetch_tile16<width>(d, a.q, sample, head, begin, q, static_cast<T*>(nullptr));
  fetch_tile16<width>(d, a.dout, sample, head, begin, dout, static_cast<T*>(nullptr));
  fetch_statistics(a, sample, head, begin, tile_rows, lse, delta);
  float dq[width / 8][4] = {};
  for (int64_t key = 0; key < key_end; key += tile_rows) {
    __syncthreads();  // the tiles before are read
    fetch_tile16<width>(d, a.k, sample, kv_head, key, k, turned);
    fetch_tile16<width>(d, a.v, sample, kv_head, key, v, static_cast<T*>(nullptr));
    __syncthreads();
    float score[key_groups][4], slope[key_groups][4];
    warp_scores<width>(lane, q, k, score);
    warp_scores<width>(lane, dout, v, slope);
    each_sum(lane, score, [&](const Place& at, float& s) {
      const bool attends = d.cover.attends(begin + at.row, key + at.column);
      s = attends ? expf(d.scale * s - lse[at.row]) : 0.0F;
    });
    each_sum(lane, slope, [&](const Place& at, float& s) {
      const float weight = score[at.group][at.element];
      s = d.cover.attends(begin + at.row, key + at.column) ? d.scale * weight * (s - delta[at.row]) : 0.0F;
    });
    warp_add_product<width>(lane, slope, turned, dq);
  }
  put_tile<width>(lane, d, a.dq, sample, head, begin, dq);
}

/// Block: (tile of keys, sample, key/value head). Shared: k, v, q, dout, turned q and dout, lse, delta.
template <class T, int width>
__global__ void __launch_bounds__(warp_threads) key_gradient_16_kernel(BackwardOperands<T> a) {
  const auto& d = a.dims;
  T* k = reinterpret_cast<T*>(dynamic_shared);
  T* v = k + tile_elements(width);
  T* q = v + tile_elements(width);
  T* dout = q + tile_elements(width);
  T* turned_q = dout + tile_elements(width);
  T* turned_dout = turned_q + turned_elements(width);
  float* lse = reinterpret_cast<float*>(turned_dout + turned_elements(width));
  float* delta = lse + tile_rows;
  const Lane lane;
  const auto per_tile = d.samples * d.kv_heads;
  const auto kv_head = blockIdx.x % d.kv_heads;
  const auto sample = blockIdx.x % per_tile / d.kv_heads;
  const auto begin = static_cast<int64_t>(blockIdx.x / per_tile) * tile_rows;
  const auto first = (d.cover.causal ? begin : d.cover.query_begin) / tile_rows * tile_rows;
  const auto query_end = begin < d.cover.key_end ? d.cover.query_end : first;
  fetch_tile16<width>(d, a.k, sample, kv_head, begin, k, static_cast<T*>(nullptr));
  fetch_tile16<width>(d, a.v, sample, kv_head, begin, v, static_cast<T*>(nullptr));
  float dk[width / 8][4] = {};
  float dv[width / 8][4] = {};
  for (auto head = kv_head * d.group(); head < (kv_head + 1) * d.group(); ++head) {
    for (int64_t query = first; query < query_end; query += tile_rows) {
      __syncthreads();  // the tiles before are read
      fetch_tile16<width>(d, a.q, sample, head, query, q, turned_q);
      fetch_tile16<width>(d, a.dout, sample, head, query, dout, turned_dout);
      fetch_statistics(a, sample, head, query, tile_rows, lse, delta);
      __syncthreads();
      float score[key_groups][4], slope[key_groups][4];
      warp_scores<width>(lane, k, q, score);
      each_sum(lane, score, [&](const Place& at, float& s) {
        const bool attends = d.cover.attends(query + at.column, begin + at.row);
        s = attends ? expf(d.scale * s - lse[at.column]) : 0.0F;
      });
      warp_add_product<width>(lane, score, turned_dout, dv);
      warp_scores<width>(lane, v, dout, slope);
      each_sum(lane, slope, [&](const Place& at, float& s) {
        const float weight = score[at.group][at.element];
        s = d.cover.attends(query + at.column, begin + at.row) ? d.scale * weight * (s - delta[at.column])
                                                               : 0.0F;
      });
      warp_add_product<width>(lane, slope, turned_q, dk);
    }
  }
  put_tile<width>(lane, d, a.dk, sample, kv_head, begin, dk);
  put_tile<width>(lane, d, a.dv, sample, kv_head, begin, dv);
}

constexpr int64_t shared_bytes(int width, int turned) {
  return (4 * tile_elements(width) + turned * turned_elements(width)) * 2 + 2 * tile_rows * 4;
}

template <class T>
void run(cudaStream_t stream, const AttentionBackwardArgs& args, const float* delta) {
  const auto a = backward_operands<T>(args, delta);
  const auto tiles = ceil_div(args.positions, tile_rows) * args.samples;
  by_width(args.head_dim, [&]<int width>() {
    launch(stream, block_grid(tiles * args.heads), warp_threads, shared_bytes(width, 1),
           query_gradient_16_kernel<T, width>, a);
    launch(stream, block_grid(tiles * args.kv_heads), warp_threads, shared_bytes(width, 2),
           key_gradient_16_kernel<T, width>, a);
  });
}

}  // namespace

void attention_backward_16(cudaStream_t stream, const AttentionBackwardArgs& args, const float* delta) {
  if (args.q.dtype == core::DType::bf16) return run<__nv_bfloat16>(stream, args, delta);
  run<__half>(stream, args, delta);
}

}  // namespace galvatron::kernels::cuda
