#pragma once
// Elements of 16 bits as fp32 numbers and back, without branches or special instructions, so that loops over
// them become vector code at every level. Rounding is to nearest, ties to even; NaN and infinity stay what
// they are.

#include <cstdint>

#include "kernels/cpu/simd/simd.hpp"

namespace galvatron::kernels::GALVATRON_SIMD_LEVEL {

inline uint32_t bits_of(float x) {
  return __builtin_bit_cast(uint32_t, x);
}
inline float float_of(uint32_t bits) {
  return __builtin_bit_cast(float, bits);
}

inline float widen(float x) {
  return x;
}
inline float widen(Bf16 x) {
  return float_of(static_cast<uint32_t>(x.bits) << 16);
}
inline float widen(F16 x) {
  constexpr float from_bias_15 = 0x1p112F;  // fp32's exponent has a bias of 127; denormals become normal
  const uint32_t magnitude = x.bits & 0x7fffU;
  const uint32_t special = static_cast<int32_t>(magnitude) >= 0x7c00 ? 0x7f800000U : 0U;  // infinity and NaN
  const uint32_t sign = static_cast<uint32_t>(x.bits & 0x8000U) << 16;
  return float_of(bits_of(float_of(magnitude << 13) * from_bias_15) | special | sign);
}

inline void narrow(float x, float& to) {
  to = x;
}
inline void narrow(float x, Bf16& to) {
  const auto bits = bits_of(x);
  const uint32_t rounded = (bits + 0x7fffU + ((bits >> 16) & 1U)) >> 16;
  const uint32_t quiet_nan = (bits >> 16) | 0x40U;
  to.bits = static_cast<uint16_t>(x == x ? rounded : quiet_nan);
}
inline void narrow(float x, F16& to) {
  const auto sign = (bits_of(x) >> 16) & 0x8000U;
  const auto magnitude = bits_of(x) & 0x7fffffffU;
  // Adding 0.5 leaves a denormal's bits, rounded, at the end of the sum.
  const uint32_t denormal = bits_of(float_of(magnitude) + 0.5F) - 0x3f000000U;
  const uint32_t normal = (magnitude - 0x38000000U + 0xfffU + ((magnitude >> 13) & 1U)) >> 13;
  const auto size = static_cast<int32_t>(magnitude);  // vectors compare signed numbers in one instruction
  const uint32_t special = size > 0x7f800000 ? 0x7e00U : 0x7c00U;
  const uint32_t finite = size < 0x38800000 ? denormal : normal;
  to.bits = static_cast<uint16_t>(sign | (size >= 0x47800000 ? special : finite));
}

/// body(the address as one of the element's type).
template <class Body>
inline void with_element(Element element, const void* data, Body body) {
  switch (element) {
    case Element::f32:
      return body(static_cast<const float*>(data));
    case Element::bf16:
      return body(static_cast<const Bf16*>(data));
    case Element::f16:
      return body(static_cast<const F16*>(data));
  }
}
template <class Body>
inline void with_element(Element element, void* data, Body body) {
  switch (element) {
    case Element::f32:
      return body(static_cast<float*>(data));
    case Element::bf16:
      return body(static_cast<Bf16*>(data));
    case Element::f16:
      return body(static_cast<F16*>(data));
  }
}

}  // namespace galvatron::kernels::GALVATRON_SIMD_LEVEL
