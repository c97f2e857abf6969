#pragma once
// The two 16-bit real types as bits. Conversions round to nearest, ties to even, and have no branches that
// stop a compiler from making vector instructions of a loop over them; they need no processor feature, so
// every machine gives the same bits.

#include <bit>
#include <cstdint>

namespace galvatron::core {

/// bf16: the upper half of an f32.
inline float bf16_to_f32(uint16_t bits) {
  return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16);
}

/// A NaN stays one; values beyond the largest bf16 become infinite.
inline uint16_t f32_to_bf16(float value) {
  const auto bits = std::bit_cast<uint32_t>(value);
  const uint32_t rounded = (bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16;
  const uint32_t quiet = (bits >> 16) | 0x40u;
  return static_cast<uint16_t>((bits & 0x7fffffffu) > 0x7f800000u ? quiet : rounded);
}

/// f16: IEEE 754 binary16, subnormal numbers included.
inline float f16_to_f32(uint16_t bits) {
  const uint32_t sign = (bits & 0x8000u) << 16;
  const uint32_t magnitude = (bits & 0x7fffu) << 13;
  // The exponent's bias differs by 112; infinity and NaN need as much again; a subnormal is made normal by
  // a subtraction that is exact.
  const uint32_t normal = magnitude + (112u << 23);
  const uint32_t special = magnitude + (224u << 23);
  const float subnormal = std::bit_cast<float>(magnitude + (113u << 23)) - std::bit_cast<float>(113u << 23);
  const uint32_t exponent = magnitude & (0x1fu << 23);
  const uint32_t finite = exponent == 0 ? std::bit_cast<uint32_t>(subnormal) : normal;
  return std::bit_cast<float>(sign | (exponent == (0x1fu << 23) ? special : finite));
}

/// A NaN stays one; values that round beyond 65504 become infinite.
inline uint16_t f32_to_f16(float value) {
  const auto bits = std::bit_cast<uint32_t>(value);
  const uint32_t sign = (bits >> 16) & 0x8000u;
  const uint32_t magnitude = bits & 0x7fffffffu;
  // Adding 0.5 moves a subnormal result's last bit to the last bit of an f32, where the sum is rounded.
  const float shifted = std::bit_cast<float>(magnitude) + 0.5f;
  const uint32_t subnormal = std::bit_cast<uint32_t>(shifted) - std::bit_cast<uint32_t>(0.5f);
  const uint32_t normal = (magnitude - (112u << 23) + 0xfffu + ((magnitude >> 13) & 1u)) >> 13;
  const uint32_t finite = magnitude < (113u << 23) ? subnormal : normal;
  const uint32_t special = magnitude > 0x7f800000u ? 0x7e00u : 0x7c00u;
  return static_cast<uint16_t>(sign | (magnitude >= (143u << 23) ? special : finite));
}

}  // namespace galvatron::core
