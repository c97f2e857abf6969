#pragma once
// Attention for heads wider than the tiles: a block owns one row (query or key) of one head, and its threads
// take turns at being one score each and one column each. Slow, of any width.

#include "kernels/cuda/attention_operands.cuh"
#include "kernels/cuda/block.cuh"

namespace galvatron::kernels::cuda {

constexpr int wide_threads = 256;

template <class T>
__device__ float dot_product(const T* a, const T* b, int64_t n) {
  float sum = 0;
  for (int64_t i = 0; i < n; ++i) sum += to_f32(a[i]) * to_f32(b[i]);
  return sum;
}

/// Block: (query, sample, head). Shared: one accumulator per column.
template <class T>
__global__ void wide_attention_kernel(AttentionDims d, Matrix<T> q, Matrix<T> k, Matrix<T> v, Result<T> out,
                                      Matrix<float> lse) {
  __shared__ float weights[wide_threads];
  float* sums = reinterpret_cast<float*>(dynamic_shared);
  const int thread = static_cast<int>(threadIdx.x);
  const auto head = blockIdx.x % d.heads;
  const auto sample = blockIdx.x / d.heads % d.samples;
  const auto query = d.cover.query_begin + blockIdx.x / (d.heads * d.samples);
  const auto row = d.row(sample, query);
  const auto at = head * d.head_dim;
  const auto kv = head / d.group() * d.head_dim;
  const auto keys = d.cover.causal ? query + 1 : d.cover.key_end;
  float maximum = out.accumulate ? lse.row(row)[head] : -INFINITY;
  float sum = out.accumulate ? 1.0F : 0.0F;
  for (int64_t j = thread; j < d.head_dim; j += wide_threads)
    sums[j] = out.accumulate ? out.sums.row(row)[at + j] : 0.0F;
  for (int64_t begin = 0; begin < keys; begin += wide_threads) {
    const auto key = begin + thread;
    const float score =
        key < keys ? d.scale * dot_product(q.row(row) + at, k.row(d.row(sample, key)) + kv, d.head_dim)
                   : -INFINITY;
    const float highest = fmaxf(maximum, block_maximum(score));
    const float kept = expf(maximum - highest);
    maximum = highest;
    const float weight = expf(score - highest);
    weights[thread] = weight;
    sum = sum * kept + block_sum(weight);  // its barriers also show the weights
    const auto count = keys - begin < wide_threads ? keys - begin : wide_threads;
    for (int64_t j = thread; j < d.head_dim; j += wide_threads) {
      float all = sums[j] * kept;
      for (int64_t n = 0; n < count; ++n) all += weights[n] * to_f32(v.row(d.row(sample, begin + n))[kv + j]);
      sums[j] = all;
    }
    __syncthreads();
  }
  for (int64_t j = thread; j < d.head_dim; j += wide_threads) {
    if (out.sums.data != nullptr) {
      out.sums.row(row)[at + j] = sums[j] / sum;
    } else {
      out.elements.row(row)[at + j] = from_f32<T>(sums[j] / sum);
    }
  }
  if (thread == 0) lse.row(row)[head] = maximum + logf(sum);
}

/// Weight of a query's key, and the gradient of its score.
template <class T>
__device__ float2 wide_weight(const BackwardOperands<T>& a, int64_t row, int64_t head, int64_t there) {
  const auto& d = a.dims;
  const auto at = head * d.head_dim;
  const auto kv = head / d.group() * d.head_dim;
  const float score = dot_product(a.q.matrix.row(row) + at, a.k.matrix.row(there) + kv, d.head_dim);
  const float weight = expf(d.scale * score - a.lse.row(row)[head]);
  const float slope = dot_product(a.dout.matrix.row(row) + at, a.v.matrix.row(there) + kv, d.head_dim);
  return {weight, d.scale * weight * (slope - a.delta_of(row, head))};
}

/// Block: (query, sample, head), every query of the block of positions.
template <class T>
__global__ void wide_query_gradient_kernel(BackwardOperands<T> a) {
  __shared__ float slopes[wide_threads];
  float* sums = reinterpret_cast<float*>(dynamic_shared);
  const auto& d = a.dims;
  const int thread = static_cast<int>(threadIdx.x);
  const auto head = blockIdx.x % d.heads;
  const auto sample = blockIdx.x / d.heads % d.samples;
  const auto query = static_cast<int64_t>(blockIdx.x / (d.heads * d.samples));
  const auto row = d.row(sample, query);
  const auto kv = head / d.group() * d.head_dim;
  const bool touched = query >= d.cover.query_begin && query < d.cover.query_end;
  const auto keys = !touched ? 0 : d.cover.causal ? query + 1 : d.cover.key_end;
  for (int64_t j = thread; j < d.head_dim; j += wide_threads) sums[j] = 0.0F;
  for (int64_t begin = 0; begin < keys; begin += wide_threads) {
    const auto key = begin + thread;
    slopes[thread] = key < keys ? wide_weight(a, row, head, d.row(sample, key)).y : 0.0F;
    __syncthreads();
    const auto count = keys - begin < wide_threads ? keys - begin : wide_threads;
    for (int64_t j = thread; j < d.head_dim; j += wide_threads) {
      float all = sums[j];
      for (int64_t n = 0; n < count; ++n)
        all += slopes[n] * to_f32(a.k.matrix.row(d.row(sample, begin + n))[kv + j]);
      sums[j] = all;
    }
    __syncthreads();
  }
  for (int64_t j = thread; j < d.head_dim; j += wide_threads) a.dq.put(row, head * d.head_dim + j, sums[j]);
}

/// Block: (key, sample, key/value head). Shared: one accumulator per column of dk, then of dv.
template <class T>
__global__ void wide_key_gradient_kernel(BackwardOperands<T> a) {
  __shared__ float2 weights[wide_threads];
  float* dk = reinterpret_cast<float*>(dynamic_shared);
  const auto& d = a.dims;
  float* dv = dk + d.head_dim;
  const int thread = static_cast<int>(threadIdx.x);
  const auto kv_head = blockIdx.x % d.kv_heads;
  const auto sample = blockIdx.x / d.kv_heads % d.samples;
  const auto key = static_cast<int64_t>(blockIdx.x / (d.kv_heads * d.samples));
  const auto there = d.row(sample, key);
  const bool touched = key < d.cover.key_end;
  const auto first = d.cover.causal ? key : d.cover.query_begin;
  for (int64_t j = thread; j < d.head_dim; j += wide_threads) dk[j] = dv[j] = 0.0F;
  for (int64_t head = kv_head * d.group(); touched && head < (kv_head + 1) * d.group(); ++head) {
    for (int64_t begin = first; begin < d.cover.query_end; begin += wide_threads) {
      const auto left = d.cover.query_end - begin;
      const auto count = left < wide_threads ? left : wide_threads;
      if (thread < count) weights[thread] = wide_weight(a, d.row(sample, begin + thread), head, there);
      __syncthreads();
      for (int64_t j = thread; j < d.head_dim; j += wide_threads) {
        for (int64_t n = 0; n < count; ++n) {
          const auto row = d.row(sample, begin + n);
          dk[j] += weights[n].y * to_f32(a.q.matrix.row(row)[head * d.head_dim + j]);
          dv[j] += weights[n].x * to_f32(a.dout.matrix.row(row)[head * d.head_dim + j]);
        }
      }
      __syncthreads();
    }
  }
  for (int64_t j = thread; j < d.head_dim; j += wide_threads) {
    a.dk.put(there, kv_head * d.head_dim + j, dk[j]);
    a.dv.put(there, kv_head * d.head_dim + j, dv[j]);
  }
}

template <class T>
void wide_attention(cudaStream_t stream, const AttentionDims& d, Matrix<T> q, Matrix<T> k, Matrix<T> v,
                    Result<T> out, Matrix<float> lse) {
  const auto blocks = (d.cover.query_end - d.cover.query_begin) * d.samples * d.heads;
  launch(stream, block_grid(blocks), wide_threads, d.head_dim * 4, wide_attention_kernel<T>, d, q, k, v, out,
         lse);
}

template <class T>
void wide_attention_backward(cudaStream_t stream, const BackwardOperands<T>& a) {
  const auto& d = a.dims;
  launch(stream, block_grid(d.positions * d.samples * d.heads), wide_threads, d.head_dim * 4,
         wide_query_gradient_kernel<T>, a);
  launch(stream, block_grid(d.positions * d.samples * d.kv_heads), wide_threads, 2 * d.head_dim * 4,
         wide_key_gradient_kernel<T>, a);
}

}  // namespace galvatron::kernels::cuda
