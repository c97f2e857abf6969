// Steps that look at one element (or pair) at a time: activations, additions, constants, copies, conversions.
// Each reads and writes memory once, 16 bytes at a time where the operands' places allow.

#include "kernels/cuda/element.cuh"
#include "kernels/cuda/formulas.cuh"
#include "kernels/cuda/launch.cuh"
#include "kernels/cuda/steps.hpp"

namespace galvatron::kernels::cuda {
namespace {

template <class T, int N>
__global__ void gelu_kernel(Matrix<T> x, Matrix<T> y, int64_t rows, int64_t cols) {
  each_pack<N>(rows, cols, [&](int64_t i, int64_t j) {
    auto pack = load<N>(x.row(i) + j);
    for (int e = 0; e < N; ++e) pack.at[e] = from_f32<T>(gelu(to_f32(pack.at[e])));
    store<N>(y.row(i) + j, pack);
  });
}

template <class T, int N>
__global__ void gelu_backward_kernel(Matrix<T> x, Matrix<T> dy, Matrix<T> dx, int64_t rows, int64_t cols) {
  each_pack<N>(rows, cols, [&](int64_t i, int64_t j) {
    const auto in = load<N>(x.row(i) + j);
    auto pack = load<N>(dy.row(i) + j);
    for (int e = 0; e < N; ++e) pack.at[e] = from_f32<T>(gelu_slope(to_f32(in.at[e])) * to_f32(pack.at[e]));
    store<N>(dx.row(i) + j, pack);
  });
}

template <class T, int N>
__global__ void swiglu_kernel(Matrix<T> x, Matrix<T> y, int64_t rows, int64_t cols) {
  each_pack<N>(rows, cols, [&](int64_t i, int64_t j) {
    const auto gate = load<N>(x.row(i) + j);
    auto pack = load<N>(x.row(i) + cols + j);
    for (int e = 0; e < N; ++e) pack.at[e] = from_f32<T>(silu(to_f32(gate.at[e])) * to_f32(pack.at[e]));
    store<N>(y.row(i) + j, pack);
  });
}

template <class T, int N>
__global__ void swiglu_backward_kernel(Matrix<T> x, Matrix<T> dy, Matrix<T> dx, int64_t rows, int64_t cols) {
  each_pack<N>(rows, cols, [&](int64_t i, int64_t j) {
    auto gate = load<N>(x.row(i) + j);
    auto up = load<N>(x.row(i) + cols + j);
    const auto gradient = load<N>(dy.row(i) + j);
    for (int e = 0; e < N; ++e) {
      const float g = to_f32(gate.at[e]);
      const float d = to_f32(gradient.at[e]);
      gate.at[e] = from_f32<T>(d * to_f32(up.at[e]) * silu_slope(g));
      up.at[e] = from_f32<T>(d * silu(g));
    }
    store<N>(dx.row(i) + j, gate);
    store<N>(dx.row(i) + cols + j, up);
  });
}

template <class T, int N>
__global__ void add_kernel(Matrix<T> a, Matrix<T> b, const T* bias, Matrix<T> out, int64_t rows,
                           int64_t cols) {
  each_pack<N>(rows, cols, [&](int64_t i, int64_t j) {
    auto pack = load<N>(a.row(i) + j);
    const auto other = load<N>(b.row(i) + j);
    Pack<T, N> shift;
    if (bias != nullptr) shift = load<N>(bias + j);
    for (int e = 0; e < N; ++e) {
      float sum = to_f32(pack.at[e]) + to_f32(other.at[e]);
      if (bias != nullptr) sum += to_f32(shift.at[e]);
      pack.at[e] = from_f32<T>(sum);
    }
    store<N>(out.row(i) + j, pack);
  });
}

template <class T, int N>
__global__ void fill_kernel(Matrix<T> x, T value, int64_t rows, int64_t cols) {
  Pack<T, N> pack;
  for (int e = 0; e < N; ++e) pack.at[e] = value;
  each_pack<N>(rows, cols, [&](int64_t i, int64_t j) { store<N>(x.row(i) + j, pack); });
}

template <class T, int N>
__global__ void copy_kernel(Matrix<T> from, Matrix<T> to, int64_t rows, int64_t cols) {
  each_pack<N>(rows, cols, [&](int64_t i, int64_t j) { store<N>(to.row(i) + j, load<N>(from.row(i) + j)); });
}

template <class From, class To, int N>
__global__ void convert_kernel(Matrix<From> from, Matrix<To> to, int64_t rows, int64_t cols) {
  each_pack<N>(rows, cols, [&](int64_t i, int64_t j) {
    const auto in = load<N>(from.row(i) + j);
    Pack<To, N> out;
    for (int e = 0; e < N; ++e) out.at[e] = from_f32<To>(to_f32(in.at[e]));
    store<N>(to.row(i) + j, out);
  });
}

template <class From, class To>
__global__ void repeat_kernel(const From* row, Matrix<To> to, int64_t rows, int64_t cols) {
  each_pack<1>(rows, cols, [&](int64_t i, int64_t j) { to.row(i)[j] = from_f32<To>(to_f32(row[j])); });
}

template <class T>
void fill_rows(cudaStream_t stream, const TensorView& x, T value) {
  constexpr int n = wide<T>;
  const auto packs = packable(n, x.cols, {x});
  launch(stream, plane_grid(x.rows, x.cols, packs ? n : 1), block_threads, 0,
         packs ? fill_kernel<T, n> : fill_kernel<T, 1>, matrix_of<T>(x), value, x.rows, x.cols);
}

/// T: any type as large as the elements.
template <class T>
void copy_rows(cudaStream_t stream, const TensorView& from, const TensorView& to) {
  constexpr int n = wide<T>;
  const auto packs = packable(n, from.cols, {from, to});
  launch(stream, plane_grid(from.rows, from.cols, packs ? n : 1), block_threads, 0,
         packs ? copy_kernel<T, n> : copy_kernel<T, 1>, matrix_of<T>(from), matrix_of<T>(to), from.rows,
         from.cols);
}

template <class From, class To>
void convert_rows(cudaStream_t stream, const TensorView& from, const TensorView& to) {
  constexpr int n = 4;  // 16 bytes of the wider type
  const auto packs = packable(n, from.cols, {from, to});
  launch(stream, plane_grid(from.rows, from.cols, packs ? n : 1), block_threads, 0,
         packs ? convert_kernel<From, To, n> : convert_kernel<From, To, 1>, matrix_of<From>(from),
         matrix_of<To>(to), from.rows, from.cols);
}

}  // namespace

void activation(cudaStream_t stream, ActivationKind kind, const TensorView& x, const TensorView& y) {
  if (kind == ActivationKind::gelu && y.rows > 1 && all_contiguous({x, y}))
    return activation(stream, kind, flattened(x), flattened(y));
  by_element(y.dtype, [&]<class T>() {
    constexpr int n = wide<T>;
    const auto packs = packable(n, y.cols, {x, y});
    const auto gelu = kind == ActivationKind::gelu;
    const auto kernel = gelu ? (packs ? gelu_kernel<T, n> : gelu_kernel<T, 1>)
                             : (packs ? swiglu_kernel<T, n> : swiglu_kernel<T, 1>);
    launch(stream, plane_grid(y.rows, y.cols, packs ? n : 1), block_threads, 0, kernel, matrix_of<T>(x),
           matrix_of<T>(y), y.rows, y.cols);
  });
}

void activation_backward(cudaStream_t stream, ActivationKind kind, const TensorView& x, const TensorView& dy,
                         const TensorView& dx) {
  if (kind == ActivationKind::gelu && dy.rows > 1 && all_contiguous({x, dy, dx}))
    return activation_backward(stream, kind, flattened(x), flattened(dy), flattened(dx));
  by_element(dy.dtype, [&]<class T>() {
    constexpr int n = wide<T>;
    const auto packs = packable(n, dy.cols, {x, dy, dx});
    const auto gelu = kind == ActivationKind::gelu;
    const auto kernel = gelu ? (packs ? gelu_backward_kernel<T, n> : gelu_backward_kernel<T, 1>)
                             : (packs ? swiglu_backward_kernel<T, n> : swiglu_backward_kernel<T, 1>);
    launch(stream, plane_grid(dy.rows, dy.cols, packs ? n : 1), block_threads, 0, kernel, matrix_of<T>(x),
           matrix_of<T>(dy), matrix_of<T>(dx), dy.rows, dy.cols);
  });
}

void add(cudaStream_t stream, const TensorView& a, const TensorView& b, const TensorView& bias,
         const TensorView& out) {
  if (!bias.present() && out.rows > 1 && all_contiguous({a, b, out}))
    return add(stream, flattened(a), flattened(b), bias, flattened(out));
  by_element(out.dtype, [&]<class T>() {
    constexpr int n = wide<T>;
    const auto packs = packable(n, out.cols, {a, b, bias, out});
    launch(stream, plane_grid(out.rows, out.cols, packs ? n : 1), block_threads, 0,
           packs ? add_kernel<T, n> : add_kernel<T, 1>, matrix_of<T>(a), matrix_of<T>(b), vector_of<T>(bias),
           matrix_of<T>(out), out.rows, out.cols);
  });
}

void fill(cudaStream_t stream, const TensorView& x, double value) {
  if (x.rows > 1 && x.contiguous()) return fill(stream, flattened(x), value);
  if (x.dtype == core::DType::f64) return fill_rows<double>(stream, x, value);
  by_element(x.dtype, [&]<class T>() { fill_rows<T>(stream, x, from_f32<T>(static_cast<float>(value))); });
}

void repeat_row(cudaStream_t stream, const TensorView& row, const TensorView& to) {
  by_element(row.dtype, [&]<class T>() {
    launch(stream, plane_grid(to.rows, to.cols, 1), block_threads, 0, repeat_kernel<T, float>, row.as<T>(),
           matrix_of<float>(to), to.rows, to.cols);
  });
}

void copy(cudaStream_t stream, const TensorView& from, const TensorView& to) {
  if (from.rows > 1 && all_contiguous({from, to})) return copy(stream, flattened(from), flattened(to));
  if (from.dtype != to.dtype) {
    if (to.dtype == core::DType::f32)
      return by_element(from.dtype, [&]<class T>() { convert_rows<T, float>(stream, from, to); });
    return by_element(to.dtype, [&]<class T>() { convert_rows<float, T>(stream, from, to); });
  }
  switch (core::size_of(from.dtype)) {
    case 1:
      return copy_rows<uint8_t>(stream, from, to);
    case 2:
      return copy_rows<uint16_t>(stream, from, to);
    case 4:
      return copy_rows<uint32_t>(stream, from, to);
    default:
      return copy_rows<uint64_t>(stream, from, to);
  }
}

}  // namespace galvatron::kernels::cuda
