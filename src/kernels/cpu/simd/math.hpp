#pragma once
// Elementary functions without branches or calls, so that loops over them become vector code.

#include <cstdint>

namespace galvatron::kernels::GALVATRON_SIMD_LEVEL {

/// e^x within 2 ulp for results that are normal numbers; smaller ones become 0, larger ones stay at
/// about 2.3e38; NaN stays NaN. Cody and Waite's reduction to |r| ≤ ln2/2 and the polynomial of Moshier's
/// Cephes library (expf).
inline float exp_of(float x) {
  constexpr float low = -87.336544F;  // ln of the smallest normal number
  constexpr float high = 88.376262F;  // beyond it 2^n needs n = 128
  constexpr float log2_e = 1.44269504F;
  constexpr float round_shift =
      12582912.0F;  // 1.5 · 2^23: adding it leaves the nearest integer in the low bits
  constexpr float ln2_high = 0.693359375F;
  constexpr float ln2_low = -2.12194440e-4F;
  float c = x < low ? low : x;
  c = c > high ? high : c;
  const float shifted = c * log2_e + round_shift;
  const float n = shifted - round_shift;
  const float r = (c - n * ln2_high) - n * ln2_low;
  float p = 1.9875691500e-4F;
  p = p * r + 1.3981999507e-3F;
  p = p * r + 8.3334519073e-3F;
  p = p * r + 4.1665795894e-2F;
  p = p * r + 1.6666665459e-1F;
  p = p * r + 5.0000001201e-1F;
  p = p * (r * r) + r + 1.0F;
  const auto exponent = (__builtin_bit_cast(uint32_t, shifted) << 23) + 0x3f800000U;
  const float value = p * __builtin_bit_cast(float, exponent);
  return x < low ? 0.0F : value;
}

/// 1 / (1 + e^−x).
inline float sigmoid(float x) {
  return 1.0F / (1.0F + exp_of(-x));
}

}  // namespace galvatron::kernels::GALVATRON_SIMD_LEVEL
