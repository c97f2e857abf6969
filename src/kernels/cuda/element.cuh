#pragma once
// Elements in memory: conversion to and from fp32, loads and stores of 16 bytes, and the way from an element
// type known at run time to the kernel for it.

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include <cstdint>
#include <initializer_list>

#include "core/errors.hpp"
#include "device/tensor.hpp"

namespace galvatron::kernels::cuda {

using device::TensorView;

__host__ __device__ inline float to_f32(float x) {
  return x;
}
__host__ __device__ inline float to_f32(__nv_bfloat16 x) {
  return __bfloat162float(x);
}
__host__ __device__ inline float to_f32(__half x) {
  return __half2float(x);
}

/// Rounded to nearest, ties to even.
template <class T>
__host__ __device__ T from_f32(float x);
template <>
__host__ __device__ inline float from_f32<float>(float x) {
  return x;
}
template <>
__host__ __device__ inline __nv_bfloat16 from_f32<__nv_bfloat16>(float x) {
  return __float2bfloat16_rn(x);
}
template <>
__host__ __device__ inline __half from_f32<__half>(float x) {
  return __float2half_rn(x);
}

/// N neighbours, moved by one instruction where they are 16 bytes.
template <class T, int N>
struct alignas(sizeof(T) * N) Pack {
  T at[N];
};

/// Elements in 16 bytes.
template <class T>
constexpr int wide = 16 / static_cast<int>(sizeof(T));

template <int N, class T>
__device__ Pack<T, N> load(const T* from) {
  return *reinterpret_cast<const Pack<T, N>*>(from);
}

template <int N, class T>
__device__ void store(T* to, const Pack<T, N>& pack) {
  *reinterpret_cast<Pack<T, N>*>(to) = pack;
}

/// A matrix as kernels see it.
template <class T>
struct Matrix {
  T* data = nullptr;
  int64_t stride = 0;

  __device__ T* row(int64_t i) const { return data + i * stride; }
};

template <class T>
Matrix<T> matrix_of(const TensorView& view) {
  return {view.as<T>(), view.row_stride};
}

/// The data of an optional operand, null when absent.
template <class T>
T* vector_of(const TensorView& view) {
  return view.present() ? view.as<T>() : nullptr;
}

/// True when every present view can be walked in packs of `pack` elements, each as wide as its view's
/// elements make it. `cols` is what is walked of a row: it may be a part of the view's.
inline bool packable(int64_t pack, int64_t cols, std::initializer_list<TensorView> views) {
  if (cols % pack != 0) return false;
  for (const auto& view : views) {
    if (!view.present()) continue;
    const auto bytes = static_cast<uintptr_t>(pack * core::size_of(view.dtype));
    if (reinterpret_cast<uintptr_t>(view.data) % bytes != 0) return false;
    if (view.rows > 1 && view.row_stride % pack != 0) return false;
  }
  return true;
}

inline bool all_contiguous(std::initializer_list<TensorView> views) {
  for (const auto& view : views) {
    if (!view.contiguous()) return false;
  }
  return true;
}

/// The same elements as one row.
inline TensorView flattened(TensorView view) {
  view.cols = view.elements();
  view.rows = view.rows > 0 ? 1 : 0;
  view.row_stride = view.cols;
  return view;
}

/// body(row, first column) for every pack of rows × cols, dealt over a plane_grid.
template <int N, class Body>
__device__ void each_pack(int64_t rows, int64_t cols, Body body) {
  const auto first = (static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x) * N;
  const auto step = static_cast<int64_t>(gridDim.x) * blockDim.x * N;
  for (int64_t i = blockIdx.y; i < rows; i += gridDim.y) {
    for (int64_t j = first; j < cols; j += step) body(i, j);
  }
}

/// body.operator()<T>() for the T that the type's elements have.
template <class Body>
void by_element(core::DType type, Body body) {
  switch (type) {
    case core::DType::f32:
      return body.template operator()<float>();
    case core::DType::bf16:
      return body.template operator()<__nv_bfloat16>();
    case core::DType::f16:
      return body.template operator()<__half>();
    default:
      throw core::InternalError("kernels: CUDA computes in fp32, bf16 and fp16 only");
  }
}

}  // namespace galvatron::kernels::cuda
