#pragma once
// What all kernels of attention are given, whichever way they compute.

#include "kernels/cuda/attention.cuh"

namespace galvatron::kernels::cuda {

template <class T>
struct ForwardOperands {
  AttentionDims dims;
  Heads<T> q, k, v;
  Result<T> out;
  Matrix<float> lse;
  int64_t tiles;  ///< of queries
};

template <class T>
ForwardOperands<T> forward_operands(const AttentionArgs& args) {
  ForwardOperands<T> a{};
  a.dims = dims_of(args);
  a.q = heads_of<T>(args.q, args.head_dim);
  a.k = heads_of<T>(args.k, args.head_dim);
  a.v = heads_of<T>(args.v, args.head_dim);
  a.out = result_of<T>(args.out, args.write);
  a.lse = matrix_of<float>(args.lse);
  const auto& cover = a.dims.cover;
  a.tiles = ceil_div(cover.query_end - cover.query_begin, tile_rows);
  return a;
}

/// What the backward kernels share.
template <class T>
struct BackwardOperands {
  AttentionDims dims;
  Heads<T> q, k, v, dout;
  Matrix<float> lse;
  const float* delta;  ///< rows × heads
  Result<T> dq, dk, dv;

  __device__ float delta_of(int64_t row, int64_t head) const { return delta[row * dims.heads + head]; }
};

template <class T>
BackwardOperands<T> backward_operands(const AttentionBackwardArgs& args, const float* delta) {
  BackwardOperands<T> a{};
  a.dims = dims_of(args);
  a.q = heads_of<T>(args.q, args.head_dim);
  a.k = heads_of<T>(args.k, args.head_dim);
  a.v = heads_of<T>(args.v, args.head_dim);
  a.dout = heads_of<T>(args.dout, args.head_dim);
  a.lse = matrix_of<float>(args.lse);
  a.delta = delta;
  a.dq = result_of<T>(args.dq, args.write_q);
  a.dk = result_of<T>(args.dk, args.write_kv);
  a.dv = result_of<T>(args.dv, args.write_kv);
  return a;
}

/// Log-sum-exp and delta of `rows` queries from `begin` on; 0 beyond the last.
template <class T>
__device__ void fetch_statistics(const BackwardOperands<T>& a, int64_t sample, int64_t head, int64_t begin,
                                 int rows, float* lse, float* delta) {
  const int r = static_cast<int>(threadIdx.x);
  if (r >= rows) return;
  const bool inside = begin + r < a.dims.positions;
  const auto row = inside ? a.dims.row(sample, begin + r) : 0;
  lse[r] = inside ? a.lse.row(row)[head] : 0.0F;
  delta[r] = inside ? a.delta_of(row, head) : 0.0F;
}

}  // namespace galvatron::kernels::cuda
