#pragma once
// Elementary functions without branches or calls, so that loops over them become vector code.

#include <cstdint>

namespace galvatron::kernels::GALVATRON_SIMD_LEVEL {

/// e^x within 2 ulp for results that are normal numbers; smaller ones become 0, larger ones stay at about
/// 2.3e38; NaN stays NaN. Cody and Waite's reduction to |r| ≤ ln2/2 and the polynomial of Moshier's Cephes
/// library (expf). Real is float or a vector of floats, Bits the unsigned integers of the same size.
template <class Real, class Bits>
inline Real exp_of(Real x) {
  const Real low = Real{} - 87.336544F;   // ln of the smallest normal number
  const Real high = Real{} + 88.376262F;  // beyond it 2^n needs n = 128
  constexpr float log2_e = 1.44269504F;
  constexpr float round_shift =
      12582912.0F;  // 1.5 · 2^23: adding it leaves the nearest integer in the low bits
  constexpr float ln2_high = 0.693359375F;
  constexpr float ln2_low = -2.12194440e-4F;
  Real c = x < low ? low : x;
  c = c > high ? high : c;
  const Real shifted = c * log2_e + round_shift;
  const Real n = shifted - round_shift;
  const Real r = (c - n * ln2_high) - n * ln2_low;
  Real p = r * 1.9875691500e-4F + 1.3981999507e-3F;
  p = p * r + 8.3334519073e-3F;
  p = p * r + 4.1665795894e-2F;
  p = p * r + 1.6666665459e-1F;
  p = p * r + 5.0000001201e-1F;
  p = p * (r * r) + r + 1.0F;
  const Bits exponent = (__builtin_bit_cast(Bits, shifted) << 23) + 0x3f800000U;
  const Real value = p * __builtin_bit_cast(Real, exponent);
  return x < low ? Real{} : value;
}

inline float exp_of(float x) {
  return exp_of<float, uint32_t>(x);
}

/// 1 / (1 + e^−x).
inline float sigmoid(float x) {
  return 1.0F / (1.0F + exp_of(-x));
}

}  // namespace galvatron::kernels::GALVATRON_SIMD_LEVEL
