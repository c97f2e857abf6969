// Sums over rows and over everything: partial sums per block in a scratch memory, then one kernel that adds
// those in their order. No atomics, so a run repeats its bits.

#include "kernels/cuda/sums.cuh"

#include "kernels/cuda/block.cuh"
#include "kernels/cuda/element.cuh"
#include "kernels/cuda/launch.cuh"
#include "kernels/cuda/steps.hpp"

namespace galvatron::kernels::cuda {
namespace {

constexpr int lanes = 8;     // threads that share a column
constexpr int columns = 32;  // threads side by side
constexpr int64_t most_blocks = 1024;

/// Block (x, y): `columns` packs of columns, every gridDim.y-th stretch of `lanes` rows.
template <class T, int N>
__global__ void column_sum_kernel(Matrix<T> x, int64_t rows, int64_t cols, float* partial) {
  __shared__ float parts[lanes][columns][N];
  const int column = static_cast<int>(threadIdx.x) % columns;
  const int lane = static_cast<int>(threadIdx.x) / columns;
  const auto j = (static_cast<int64_t>(blockIdx.x) * columns + column) * N;
  float sum[N] = {};
  if (j < cols) {
    for (int64_t i = static_cast<int64_t>(blockIdx.y) * lanes + lane; i < rows;
         i += static_cast<int64_t>(gridDim.y) * lanes) {
      const auto pack = load<N>(x.row(i) + j);
      for (int e = 0; e < N; ++e) sum[e] += to_f32(pack.at[e]);
    }
  }
  for (int e = 0; e < N; ++e) parts[lane][column][e] = sum[e];
  __syncthreads();
  if (lane != 0 || j >= cols) return;
  for (int e = 0; e < N; ++e) {
    float all = 0;
    for (int l = 0; l < lanes; ++l) all += parts[l][column][e];
    partial[static_cast<int64_t>(blockIdx.y) * cols + j + e] = all;
  }
}

__global__ void add_partial_sums_kernel(const float* partial, int64_t parts, int64_t stride, int64_t cols,
                                        float* sums) {
  __shared__ float shares[lanes][columns];
  const int column = static_cast<int>(threadIdx.x) % columns;
  const int lane = static_cast<int>(threadIdx.x) / columns;
  const auto j = static_cast<int64_t>(blockIdx.x) * columns + column;
  float sum = 0;
  if (j < cols) {
    for (int64_t p = lane; p < parts; p += lanes) sum += partial[p * stride + j];
  }
  shares[lane][column] = sum;
  __syncthreads();
  if (lane != 0 || j >= cols) return;
  float all = 0;
  for (int l = 0; l < lanes; ++l) all += shares[l][column];
  sums[j] += all;
}

template <int N>
__global__ void square_sum_kernel(Matrix<float> x, int64_t rows, int64_t cols, double* partial) {
  double sum = 0;
  each_pack<N>(rows, cols, [&](int64_t i, int64_t j) {
    const auto pack = load<N>(x.row(i) + j);
    for (int e = 0; e < N; ++e) sum += static_cast<double>(pack.at[e]) * static_cast<double>(pack.at[e]);
  });
  sum = block_sum(sum);
  if (threadIdx.x == 0) partial[static_cast<int64_t>(blockIdx.y) * gridDim.x + blockIdx.x] = sum;
}

__global__ void add_squares_kernel(const double* partial, int64_t parts, double* out) {
  double sum = 0;
  for (int64_t p = threadIdx.x; p < parts; p += blockDim.x) sum += partial[p];
  sum = block_sum(sum);
  if (threadIdx.x == 0) *out += sum;
}

/// Columns [begin, begin + count) of a view.
TensorView columns_of(TensorView view, int64_t begin, int64_t count) {
  view.data += begin * core::size_of(view.dtype);
  view.cols = count;
  return view;
}

template <class T, int N>
void sum_columns(cudaStream_t stream, const TensorView& x, float* out, const Scratch& scratch) {
  const auto across = ceil_div(x.cols, int64_t{columns} * N);
  const auto room = scratch.bytes / (x.cols * static_cast<int64_t>(sizeof(float)));
  const auto wanted = std::min(ceil_div(x.rows, lanes), std::max<int64_t>(most_blocks / across, 1));
  const auto down = std::clamp<int64_t>(wanted, 1, std::clamp<int64_t>(room, 1, 65535));
  auto* partial = reinterpret_cast<float*>(scratch.data);
  launch(stream, dim3(static_cast<unsigned>(across), static_cast<unsigned>(down)), columns * lanes, 0,
         column_sum_kernel<T, N>, matrix_of<T>(x), x.rows, x.cols, partial);
  add_partial_sums(stream, partial, down, x.cols, x.cols, out);
}

}  // namespace

void add_partial_sums(cudaStream_t stream, const float* partial, int64_t parts, int64_t stride, int64_t cols,
                      float* sums) {
  launch(stream, dim3(static_cast<unsigned>(ceil_div(cols, columns))), columns * lanes, 0,
         add_partial_sums_kernel, partial, parts, stride, cols, sums);
}

void column_sum(cudaStream_t stream, const TensorView& x, const TensorView& out, const Scratch& scratch) {
  if (x.rows == 0) return;
  const auto stretch = scratch.bytes / static_cast<int64_t>(sizeof(float));
  for (int64_t j = 0; j < x.cols; j += stretch) {
    const auto part = columns_of(x, j, std::min(stretch, x.cols - j));
    by_element(x.dtype, [&]<class T>() {
      constexpr int n = wide<T>;
      if (packable(n, part.cols, {part}))
        return sum_columns<T, n>(stream, part, out.as<float>() + j, scratch);
      sum_columns<T, 1>(stream, part, out.as<float>() + j, scratch);
    });
  }
}

void sum_of_squares(cudaStream_t stream, const TensorView& x, const TensorView& out, const Scratch& scratch) {
  if (x.elements() == 0) return;
  if (x.rows > 1 && x.contiguous()) return sum_of_squares(stream, flattened(x), out, scratch);
  constexpr int n = 4;
  const auto packs = packable(n, x.cols, {x});
  const auto most = std::min(most_blocks, scratch.bytes / static_cast<int64_t>(sizeof(double)));
  const auto across = std::min(ceil_div(x.cols, (packs ? n : 1) * block_threads), most);
  const auto down = std::min(x.rows, std::max<int64_t>(most / across, 1));
  auto* partial = reinterpret_cast<double*>(scratch.data);
  launch(stream, dim3(static_cast<unsigned>(across), static_cast<unsigned>(down)), block_threads, 0,
         packs ? square_sum_kernel<n> : square_sum_kernel<1>, matrix_of<float>(x), x.rows, x.cols, partial);
  launch(stream, dim3(1), block_threads, 0, add_squares_kernel, static_cast<const double*>(partial),
         across * down, out.as<double>());
}

}  // namespace galvatron::kernels::cuda
