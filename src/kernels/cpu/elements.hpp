#pragma once
// From the element type of a view, known at run time, to the loops for it. The fast path computes in fp32
// whatever the elements are, so one template serves fp32, bf16 and fp16.

#include <concepts>

#include "core/errors.hpp"
#include "device/tensor.hpp"
#include "kernels/cpu/simd/simd.hpp"

namespace galvatron::kernels {

/// body.operator()<T>() for the T that the type's elements have. Throws InternalError for other types.
template <class Body>
void by_element(core::DType type, Body body) {
  switch (type) {
    case core::DType::f32:
      return body.template operator()<float>();
    case core::DType::bf16:
      return body.template operator()<Bf16>();
    case core::DType::f16:
      return body.template operator()<F16>();
    default:
      throw core::InternalError("kernels: no fp32 arithmetic for this element type");
  }
}

template <class T>
const ElementTable<T>& loops_for(const Simd& simd) {
  if constexpr (std::same_as<T, Bf16>) {
    return simd.bf16;
  } else if constexpr (std::same_as<T, F16>) {
    return simd.f16;
  } else {
    return simd.f32;
  }
}

/// The vector of an optional operand, null when absent.
template <class T>
T* optional_vector(const device::TensorView& view) {
  return view.present() ? view.as<T>() : nullptr;
}

}  // namespace galvatron::kernels
