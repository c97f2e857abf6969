#pragma once
// bf16 and fp16 by their definition, for the values that tests put into views and read from them: slow, and
// nothing in common with what the kernels do.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

#include "core/dtype.hpp"

namespace galvatron::kernels::test {

struct SixteenBits {
  int exponent_bits, mantissa_bits;

  int bias() const { return (1 << (exponent_bits - 1)) - 1; }
  /// The first pattern that is no finite number.
  int infinity() const { return ((1 << exponent_bits) - 1) << mantissa_bits; }

  /// Rounded to nearest, ties to even.
  uint16_t encode(double x) const {
    const auto sign = std::signbit(x) ? 0x8000 : 0;
    const auto magnitude = std::abs(x);
    if (std::isnan(x)) return static_cast<uint16_t>(sign | infinity() | 1 << (mantissa_bits - 1));
    if (magnitude == 0.0) return static_cast<uint16_t>(sign);
    if (std::isinf(x)) return static_cast<uint16_t>(sign | infinity());
    const auto exponent = std::max(std::ilogb(magnitude), 1 - bias());
    const auto units = std::nearbyint(std::ldexp(magnitude, mantissa_bits - exponent));
    const auto bits = static_cast<int64_t>(units) +
                      static_cast<int64_t>(exponent + bias() - 1) * (int64_t{1} << mantissa_bits);
    return static_cast<uint16_t>(sign | std::min<int64_t>(bits, infinity()));
  }

  double decode(uint16_t bits) const {
    const auto sign = bits & 0x8000 ? -1.0 : 1.0;
    const auto exponent = (bits & 0x7fff) >> mantissa_bits;
    const auto mantissa = bits & ((1 << mantissa_bits) - 1);
    if ((bits & 0x7fff) >= infinity()) {
      return sign * (mantissa == 0 ? std::numeric_limits<double>::infinity()
                                   : std::numeric_limits<double>::quiet_NaN());
    }
    if (exponent == 0) return sign * std::ldexp(mantissa, 1 - bias() - mantissa_bits);
    return sign * std::ldexp(mantissa + (1 << mantissa_bits), exponent - bias() - mantissa_bits);
  }
};

inline SixteenBits sixteen_bits(core::DType dtype) {
  return dtype == core::DType::bf16 ? SixteenBits{8, 7} : SixteenBits{5, 10};
}

}  // namespace galvatron::kernels::test
