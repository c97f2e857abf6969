// Look-ups in tables by token and by position, their gradients, and rotary positions. A gradient's element is
// summed by one thread in the order of the rows, as on the CPU.

#include "kernels/cuda/element.cuh"
#include "kernels/cuda/launch.cuh"
#include "kernels/cuda/steps.hpp"

namespace galvatron::kernels::cuda {
namespace {

/// RowPositions for kernels, and its rules: see core/compute.hpp.
struct Places {
  int64_t samples, length, begin, half, first, second;

  __device__ int64_t of_coordinate(int64_t c) const { return c < half ? first + c : second + c - half; }
  /// Of the n-th place of a sample's share: its position, and the row of the first sample.
  __device__ int64_t position(int64_t n) const { return of_coordinate(begin + n); }
  __device__ int64_t row(int64_t n) const { return n / length * samples * length + n % length; }
  __device__ int64_t of_row(int64_t row) const {
    return of_coordinate(begin + row / (samples * length) * length + row % length);
  }
};

Places places_of(const RowPositions& p) {
  return {p.samples, p.length, p.begin, p.half, p.first, p.second};
}

template <class T, int N>
__global__ void embedding_kernel(const int32_t* ids, Matrix<T> table, int64_t table_rows, int64_t first_id,
                                 Matrix<T> out, int64_t rows, int64_t cols) {
  each_pack<N>(rows, cols, [&](int64_t i, int64_t j) {
    const auto id = ids[i] - first_id;
    Pack<T, N> pack;
    for (int e = 0; e < N; ++e) pack.at[e] = from_f32<T>(0.0F);
    if (id >= 0 && id < table_rows) pack = load<N>(table.row(id) + j);
    store<N>(out.row(i) + j, pack);
  });
}

constexpr int search_threads = 256;

/// Block i: when row i is the first with its id, adds to the id's row of the table this and all later rows
/// with that id, in order. Later rows are found a stretch at a time: warp by warp a vote, then a list of the
/// hits.
template <class T>
__global__ void embedding_backward_kernel(const int32_t* ids, Matrix<T> dout, int64_t first_id,
                                          Matrix<float> dtable, int64_t table_rows, int64_t rows,
                                          int64_t cols) {
  __shared__ int64_t hits[search_threads];
  __shared__ int counts[search_threads / 32];
  const int thread = static_cast<int>(threadIdx.x);
  const int warp = thread / 32;
  const int64_t here = blockIdx.x;
  const int32_t token = ids[here];
  const auto id = token - first_id;
  if (id < 0 || id >= table_rows) return;
  for (int64_t end = here; end > 0; end -= search_threads) {  // backwards: frequent ids are met soon
    const auto at = end - 1 - thread;
    if (__syncthreads_or(at >= 0 && ids[at] == token)) return;
  }
  for (int64_t begin = here; begin < rows; begin += search_threads) {
    const auto at = begin + thread;
    const bool hit = at < rows && ids[at] == token;
    const unsigned votes = __ballot_sync(0xffffffffU, hit);
    if (thread % 32 == 0) counts[warp] = __popc(votes);
    __syncthreads();
    int before = __popc(votes & ((1U << (thread % 32)) - 1U));
    int all = 0;
    for (int w = 0; w < search_threads / 32; ++w) {
      if (w < warp) before += counts[w];
      all += counts[w];
    }
    if (hit) hits[before] = at;
    __syncthreads();
    for (int64_t j = thread; j < cols && all > 0; j += search_threads) {
      float sum = dtable.row(id)[j];
      for (int h = 0; h < all; ++h) sum += to_f32(dout.row(hits[h])[j]);
      dtable.row(id)[j] = sum;
    }
    __syncthreads();
  }
}

template <class T, int N>
__global__ void add_positions_kernel(Matrix<T> x, Matrix<T> table, Places places, Matrix<T> out, int64_t rows,
                                     int64_t cols) {
  each_pack<N>(rows, cols, [&](int64_t i, int64_t j) {
    auto pack = load<N>(x.row(i) + j);
    const auto shift = load<N>(table.row(places.of_row(i)) + j);
    for (int e = 0; e < N; ++e) pack.at[e] = from_f32<T>(to_f32(pack.at[e]) + to_f32(shift.at[e]));
    store<N>(out.row(i) + j, pack);
  });
}

/// `count` places of a sample's share, one after the other as rows of the plane.
template <class T, int N>
__global__ void add_positions_backward_kernel(Matrix<T> dout, Places places, Matrix<float> dtable,
                                              int64_t count, int64_t cols) {
  each_pack<N>(count, cols, [&](int64_t n, int64_t j) {
    float* sums = dtable.row(places.position(n)) + j;
    float sum[N];
    for (int e = 0; e < N; ++e) sum[e] = sums[e];
    for (int64_t s = 0; s < places.samples; ++s) {
      const auto pack = load<N>(dout.row(places.row(n) + s * places.length) + j);
      for (int e = 0; e < N; ++e) sum[e] += to_f32(pack.at[e]);
    }
    for (int e = 0; e < N; ++e) sums[e] = sum[e];
  });
}

constexpr int64_t most_pairs = 512;  // whose cosines and sines lie in shared memory at once

struct Turn {
  Places places;
  int64_t count;  ///< places of a sample's share
  int64_t cols, heads, head_dim;
  double base, sign;
};

/// Pairs [begin, begin + count) of every head of one row.
template <class T>
__device__ void turn_row(const T* x, T* y, const Turn& t, int64_t begin, int64_t count, const float* cosine,
                         const float* sine) {
  const auto half = t.head_dim / 2;
  for (int64_t n = threadIdx.x; n < t.heads * count; n += blockDim.x) {
    const auto i = n % count;
    const auto at = n / count * t.head_dim + begin + i;
    const float first = to_f32(x[at]);
    const float second = to_f32(x[at + half]);
    y[at] = from_f32<T>(first * cosine[i] - second * sine[i]);
    y[at + half] = from_f32<T>(first * sine[i] + second * cosine[i]);
  }
}

/// A block per place: its angles serve all samples and heads. They are made in fp64, because positions times
/// frequencies would lose their digits in fp32.
template <class T>
__global__ void rope_kernel(Matrix<T> x, Matrix<T> y, Turn t) {
  __shared__ float cosine[most_pairs], sine[most_pairs];
  const auto half = t.head_dim / 2;
  const auto turned = t.heads * t.head_dim;
  for (int64_t place = blockIdx.x; place < t.count; place += gridDim.x) {
    const auto position = t.sign * static_cast<double>(t.places.position(place));
    for (int64_t begin = 0; begin < half; begin += most_pairs) {
      const auto count = half - begin < most_pairs ? half - begin : most_pairs;
      __syncthreads();
      for (int64_t i = threadIdx.x; i < count; i += blockDim.x) {
        const auto power = -2.0 * static_cast<double>(begin + i) / static_cast<double>(t.head_dim);
        const double angle = position * pow(t.base, power);
        cosine[i] = static_cast<float>(cos(angle));
        sine[i] = static_cast<float>(sin(angle));
      }
      __syncthreads();
      for (int64_t s = 0; s < t.places.samples; ++s) {
        const auto row = t.places.row(place) + s * t.places.length;
        turn_row(x.row(row), y.row(row), t, begin, count, cosine, sine);
      }
    }
    if (x.data == y.data) continue;
    for (int64_t s = 0; s < t.places.samples; ++s) {
      const auto row = t.places.row(place) + s * t.places.length;
      for (int64_t j = turned + threadIdx.x; j < t.cols; j += blockDim.x) y.row(row)[j] = x.row(row)[j];
    }
  }
}

}  // namespace

void embedding(cudaStream_t stream, const TensorView& ids, const TensorView& table, int64_t first_id,
               const TensorView& out) {
  by_element(out.dtype, [&]<class T>() {
    constexpr int n = wide<T>;
    const auto packs = packable(n, out.cols, {table, out});
    launch(stream, plane_grid(out.rows, out.cols, packs ? n : 1), block_threads, 0,
           packs ? embedding_kernel<T, n> : embedding_kernel<T, 1>, ids.as<int32_t>(), matrix_of<T>(table),
           table.rows, first_id, matrix_of<T>(out), out.rows, out.cols);
  });
}

void embedding_backward(cudaStream_t stream, const TensorView& ids, const TensorView& dout, int64_t first_id,
                        const TensorView& dtable) {
  GALV_ASSERT(dout.rows <= int64_t{1} << 30, dout.rows);  // a block each
  by_element(dout.dtype, [&]<class T>() {
    launch(stream, row_grid(dout.rows), search_threads, 0, embedding_backward_kernel<T>, ids.as<int32_t>(),
           matrix_of<T>(dout), first_id, matrix_of<float>(dtable), dtable.rows, dout.rows, dout.cols);
  });
}

void add_positions(cudaStream_t stream, const TensorView& x, const TensorView& table,
                   const RowPositions& positions, const TensorView& out) {
  by_element(x.dtype, [&]<class T>() {
    constexpr int n = wide<T>;
    const auto packs = packable(n, x.cols, {x, table, out});
    launch(stream, plane_grid(x.rows, x.cols, packs ? n : 1), block_threads, 0,
           packs ? add_positions_kernel<T, n> : add_positions_kernel<T, 1>, matrix_of<T>(x),
           matrix_of<T>(table), places_of(positions), matrix_of<T>(out), x.rows, x.cols);
  });
}

void add_positions_backward(cudaStream_t stream, const TensorView& dout, const RowPositions& positions,
                            const TensorView& dtable) {
  const auto count = positions.pieces * positions.length;
  by_element(dout.dtype, [&]<class T>() {
    constexpr int n = wide<T>;
    const auto packs = packable(n, dout.cols, {dout});
    launch(stream, plane_grid(count, dout.cols, packs ? n : 1), block_threads, 0,
           packs ? add_positions_backward_kernel<T, n> : add_positions_backward_kernel<T, 1>,
           matrix_of<T>(dout), places_of(positions), matrix_of<float>(dtable), count, dout.cols);
  });
}

void rope(cudaStream_t stream, const RopeArgs& args) {
  Turn t{};
  t.places = places_of(args.positions);
  t.count = args.positions.pieces * args.positions.length;
  t.cols = args.x.cols;
  t.heads = args.heads;
  t.head_dim = args.head_dim;
  t.base = args.base;
  t.sign = args.direction == Direction::forward ? 1.0 : -1.0;
  by_element(args.x.dtype, [&]<class T>() {
    launch(stream, row_grid(t.count), block_threads, 0, rope_kernel<T>, matrix_of<T>(args.x),
           matrix_of<T>(args.y), t);
  });
}

}  // namespace galvatron::kernels::cuda
