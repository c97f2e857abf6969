// Every 16-bit pattern there and back, and rounding against the neighbours of a value.
#include "core/half.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

namespace galvatron::core {
namespace {

/// The value that the bits of a format with `mantissa` bits and exponent bias `bias` mean.
double meaning(uint32_t bits, int mantissa, int bias) {
  const double sign = bits >> 15 ? -1 : 1;
  const uint32_t top = (1u << (15 - mantissa)) - 1;
  const uint32_t exponent = (bits >> mantissa) & top, fraction = bits & ((1u << mantissa) - 1);
  if (exponent == top) return fraction ? NAN : sign * INFINITY;
  const double significand = exponent == 0 ? fraction : fraction + (1u << mantissa);
  return sign * std::ldexp(significand, static_cast<int>(exponent == 0 ? 1 : exponent) - bias - mantissa);
}

template <class ToFloat, class FromFloat>
void there_and_back(int mantissa, int bias, ToFloat to_float, FromFloat from_float) {
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    const auto half = static_cast<uint16_t>(bits);
    const double expected = meaning(bits, mantissa, bias);
    const double got = to_float(half);
    if (std::isnan(expected)) {
      ASSERT_TRUE(std::isnan(got)) << "bits " << bits << ", got " << got;
      ASSERT_TRUE(std::isnan(to_float(from_float(to_float(half))))) << "bits " << bits;
    } else {
      ASSERT_EQ(got, expected) << "bits " << bits;
      ASSERT_EQ(from_float(to_float(half)), half) << "bits " << bits;
    }
  }
}

/// `value` must become the nearest of all 16-bit numbers, the even one of two equally near.
template <class FromFloat>
void expect_nearest(float value, int mantissa, int bias, FromFloat from_float) {
  const auto got = from_float(value);
  const double chosen = meaning(got, mantissa, bias), error = std::abs(chosen - value);
  for (const int step : {-1, 1}) {
    const auto other = static_cast<uint16_t>(got + step);
    const double neighbour = meaning(other, mantissa, bias);
    if (std::isnan(neighbour) || std::isinf(neighbour) || std::signbit(neighbour) != std::signbit(chosen))
      continue;
    const double distance = std::abs(neighbour - value);
    ASSERT_TRUE(error < distance || (error == distance && got % 2 == 0))
        << value << " became " << chosen << ", but " << neighbour << " is nearer";
  }
}

TEST(Half, EveryPatternOfBf16MeansWhatItSays) {
  there_and_back(7, 127, bf16_to_f32, f32_to_bf16);
}

TEST(Half, EveryPatternOfF16MeansWhatItSays) {
  there_and_back(10, 15, f16_to_f32, f32_to_f16);
}

TEST(Half, RoundingPicksTheNearestAndTheEvenOfTwo) {
  std::mt19937 random(7);
  std::uniform_real_distribution<float> exponent(-26, 15.99f);
  for (int i = 0; i < 100000; ++i) {
    const float value = std::exp2(exponent(random)) * (random() % 2 ? 1.0f : -1.0f);
    expect_nearest(value, 10, 15, f32_to_f16);
    expect_nearest(value, 7, 127, f32_to_bf16);
  }
  for (uint32_t bits = 0; bits < 0x7bff; ++bits) {
    const auto low = f16_to_f32(static_cast<uint16_t>(bits)),
               high = f16_to_f32(static_cast<uint16_t>(bits + 1));
    expect_nearest((low + high) / 2, 10, 15, f32_to_f16);
  }
}

TEST(Half, TooLargeValuesBecomeInfinite) {
  EXPECT_EQ(f32_to_f16(65504.0f), 0x7bff);
  EXPECT_EQ(f32_to_f16(65519.99f), 0x7bff);
  EXPECT_EQ(f32_to_f16(65520.0f), 0x7c00);
  EXPECT_EQ(f32_to_f16(-1e30f), 0xfc00);
  EXPECT_EQ(f32_to_f16(std::numeric_limits<float>::infinity()), 0x7c00);
  EXPECT_EQ(f32_to_bf16(std::numeric_limits<float>::max()), 0x7f80);
  EXPECT_EQ(f32_to_bf16(-std::numeric_limits<float>::infinity()), 0xff80);
}

}  // namespace
}  // namespace galvatron::core
