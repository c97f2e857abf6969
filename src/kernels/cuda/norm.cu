// LayerNorm and RMSNorm: a block per row. A row is read from memory once; the further looks at it come from
// the caches. The backward keeps each block's sums of dgamma and dbeta on chip while it walks down its rows.

#include "kernels/cuda/block.cuh"
#include "kernels/cuda/element.cuh"
#include "kernels/cuda/launch.cuh"
#include "kernels/cuda/steps.hpp"
#include "kernels/cuda/sums.cuh"

namespace galvatron::kernels::cuda {
namespace {

/// Sums of a block that stay in shared memory; wider rows keep them in the workspace.
constexpr int64_t most_shared_sums = 96 << 10;

/// body(first column) for every pack of a row, dealt over the block.
template <int N, class Body>
__device__ void each_pack_of_row(int64_t cols, Body body) {
  for (int64_t j = static_cast<int64_t>(threadIdx.x) * N; j < cols; j += static_cast<int64_t>(blockDim.x) * N)
    body(j);
}

template <class T>
struct NormOperands {
  Matrix<T> x, y;
  const T *gamma, *beta;
  Matrix<float> stats;
  int64_t rows, cols;
  float eps;
  bool centred;
};

template <class T, int N>
__global__ void norm_kernel(NormOperands<T> a) {
  const auto count = static_cast<float>(a.cols);
  for (int64_t i = blockIdx.x; i < a.rows; i += gridDim.x) {
    const T* x = a.x.row(i);
    float mean = 0;
    if (a.centred) {
      each_pack_of_row<N>(a.cols, [&](int64_t j) {
        const auto pack = load<N>(x + j);
        for (int e = 0; e < N; ++e) mean += to_f32(pack.at[e]);
      });
      mean = block_sum(mean) / count;
    }
    float variance = 0;
    each_pack_of_row<N>(a.cols, [&](int64_t j) {
      const auto pack = load<N>(x + j);
      for (int e = 0; e < N; ++e) {
        const float centred = to_f32(pack.at[e]) - mean;
        variance += centred * centred;
      }
    });
    const float inverse = 1.0F / sqrtf(block_sum(variance) / count + a.eps);
    each_pack_of_row<N>(a.cols, [&](int64_t j) {
      auto pack = load<N>(x + j);
      const auto gamma = load<N>(a.gamma + j);
      Pack<T, N> beta;
      if (a.beta != nullptr) beta = load<N>(a.beta + j);
      for (int e = 0; e < N; ++e) {
        const float shift = a.beta != nullptr ? to_f32(beta.at[e]) : 0.0F;
        pack.at[e] = from_f32<T>((to_f32(pack.at[e]) - mean) * inverse * to_f32(gamma.at[e]) + shift);
      }
      store<N>(a.y.row(i) + j, pack);
    });
    if (threadIdx.x == 0) {
      a.stats.row(i)[0] = mean;
      a.stats.row(i)[1] = inverse;
    }
  }
}

template <class T>
struct NormBackwardOperands {
  Matrix<T> x, dy, dx, residual;  ///< residual.data may be null
  const T* gamma;
  Matrix<float> stats;
  float* partial;  ///< per block cols sums of dgamma, then cols of dbeta
  int64_t rows, cols;
  bool centred;
  bool in_shared;  ///< dynamic shared memory holds 2 · cols sums
};

/// Adds a row's part of dgamma and dbeta; gives back what this thread saw of the two sums over the row. A
/// thread meets the same columns in every row, so nobody else touches its sums.
template <class T, int N>
__device__ float2 gradient_sums(const NormBackwardOperands<T>& a, int64_t i, float mean, float inverse,
                                float* sums) {
  float2 row = {0, 0};
  each_pack_of_row<N>(a.cols, [&](int64_t j) {
    const auto x = load<N>(a.x.row(i) + j);
    const auto dy = load<N>(a.dy.row(i) + j);
    const auto gamma = load<N>(a.gamma + j);
    for (int e = 0; e < N; ++e) {
      const float normalised = (to_f32(x.at[e]) - mean) * inverse;
      const float gradient = to_f32(dy.at[e]);
      sums[j + e] += gradient * normalised;
      sums[a.cols + j + e] += gradient;
      row.x += gradient * to_f32(gamma.at[e]);
      row.y += gradient * to_f32(gamma.at[e]) * normalised;
    }
  });
  return row;
}

template <class T, int N>
__device__ void store_gradient(const NormBackwardOperands<T>& a, int64_t i, float mean, float inverse,
                               float2 row) {
  const auto count = static_cast<float>(a.cols);
  each_pack_of_row<N>(a.cols, [&](int64_t j) {
    const auto x = load<N>(a.x.row(i) + j);
    auto pack = load<N>(a.dy.row(i) + j);
    const auto gamma = load<N>(a.gamma + j);
    Pack<T, N> residual;
    if (a.residual.data != nullptr) residual = load<N>(a.residual.row(i) + j);
    for (int e = 0; e < N; ++e) {
      const float normalised = (to_f32(x.at[e]) - mean) * inverse;
      const float inner = to_f32(pack.at[e]) * to_f32(gamma.at[e]) - (row.x + normalised * row.y) / count;
      const float add = a.residual.data != nullptr ? to_f32(residual.at[e]) : 0.0F;
      pack.at[e] = from_f32<T>(inverse * inner + add);
    }
    store<N>(a.dx.row(i) + j, pack);
  });
}

template <class T, int N>
__global__ void norm_backward_kernel(NormBackwardOperands<T> a) {
  auto* kept = a.partial + static_cast<int64_t>(blockIdx.x) * 2 * a.cols;
  auto* sums = a.in_shared ? reinterpret_cast<float*>(dynamic_shared) : kept;
  const auto each_sum = [&](auto body) {
    each_pack_of_row<N>(a.cols, [&](int64_t j) {
      for (int e = 0; e < N; ++e) {
        body(j + e);
        body(a.cols + j + e);
      }
    });
  };
  each_sum([&](int64_t at) { sums[at] = 0.0F; });
  for (int64_t i = blockIdx.x; i < a.rows; i += gridDim.x) {
    const float mean = a.stats.row(i)[0];
    const float inverse = a.stats.row(i)[1];
    float2 row = gradient_sums<T, N>(a, i, mean, inverse, sums);
    row.x = a.centred ? block_sum(row.x) : 0.0F;  // no mean was taken away by RMSNorm
    row.y = block_sum(row.y);
    store_gradient<T, N>(a, i, mean, inverse, row);
  }
  if (a.in_shared) each_sum([&](int64_t at) { kept[at] = sums[at]; });
}

/// As many threads as a row has packs, in whole warps.
int64_t row_threads(int64_t packs) {
  return std::clamp<int64_t>(ceil_div(packs, 32) * 32, 32, 512);
}

}  // namespace

void norm(cudaStream_t stream, const NormArgs& args) {
  if (args.x.elements() == 0) return;
  by_element(args.x.dtype, [&]<class T>() {
    NormOperands<T> a{};
    a.x = matrix_of<T>(args.x);
    a.y = matrix_of<T>(args.y);
    a.gamma = args.gamma.as<T>();
    a.beta = vector_of<T>(args.beta);
    a.stats = matrix_of<float>(args.stats);
    a.rows = args.x.rows;
    a.cols = args.x.cols;
    a.eps = static_cast<float>(args.eps);
    a.centred = args.kind == NormKind::layernorm;
    constexpr int n = wide<T>;
    const auto packs = packable(n, a.cols, {args.x, args.y, args.gamma, args.beta});
    launch(stream, row_grid(a.rows), row_threads(a.cols / (packs ? n : 1)), 0,
           packs ? norm_kernel<T, n> : norm_kernel<T, 1>, a);
  });
}

int64_t norm_backward_shares(int64_t rows) {
  return std::clamp<int64_t>(rows, 0, 288);  // about two blocks for each of a large device's processors
}

int64_t norm_backward_bytes(const NormBackwardArgs& args) {
  return norm_backward_shares(args.x.rows) * 2 * args.x.cols * static_cast<int64_t>(sizeof(float));
}

void norm_backward(cudaStream_t stream, const NormBackwardArgs& args) {
  if (args.x.elements() == 0) return;
  const auto cols = args.x.cols;
  const auto shares = norm_backward_shares(args.x.rows);
  auto* partial = args.workspace.as<float>();
  by_element(args.x.dtype, [&]<class T>() {
    NormBackwardOperands<T> a{};
    a.x = matrix_of<T>(args.x);
    a.dy = matrix_of<T>(args.dy);
    a.dx = matrix_of<T>(args.dx);
    if (args.residual.present()) a.residual = matrix_of<T>(args.residual);
    a.gamma = args.gamma.as<T>();
    a.stats = matrix_of<float>(args.stats);
    a.partial = partial;
    a.rows = args.x.rows;
    a.cols = cols;
    a.centred = args.kind == NormKind::layernorm;
    const auto shared = 2 * cols * static_cast<int64_t>(sizeof(float));
    a.in_shared = shared <= most_shared_sums;
    constexpr int n = wide<T>;
    const auto packs = packable(n, cols, {args.x, args.dy, args.dx, args.residual, args.gamma});
    launch(stream, row_grid(shares), row_threads(cols / (packs ? n : 1)), a.in_shared ? shared : 0,
           packs ? norm_backward_kernel<T, n> : norm_backward_kernel<T, 1>, a);
  });
  add_partial_sums(stream, partial, shares, 2 * cols, cols, args.dgamma.as<float>());
  if (args.dbeta.present())
    add_partial_sums(stream, partial + cols, shares, 2 * cols, cols, args.dbeta.as<float>());
}

}  // namespace galvatron::kernels::cuda
