// Every pattern of 16 bits to fp32 and back, and every place between two of them, at every instruction-set
// level that this processor has.

#include <cstring>

#include "parity/kernels/workbench.hpp"

namespace galvatron::kernels::test {
namespace {

constexpr int64_t patterns = 1 << 16;

class Conversions : public testing::TestWithParam<DType> {
 protected:
  SixteenBits type() const { return sixteen_bits(GetParam()); }

  template <class Body>
  void at_each_level(Body body) {
    const auto levels = available_simd();
    for (int64_t i = 0; i < levels.count; ++i) {
      SCOPED_TRACE(levels.table[i]->level);
      Workbench w(*levels.table[i], DType::f32, 2);
      body(w);
    }
  }

  /// Compares what `from` becomes with `expected`, pattern by pattern.
  void expect_narrowed(Workbench& w, const std::vector<float>& from, const std::vector<uint16_t>& expected) {
    const auto count = static_cast<int64_t>(from.size());
    const auto source = w.filled(DType::f32, 1, count, 0.0);
    std::memcpy(source.data, from.data(), from.size() * sizeof(float));
    const auto to = w.filled(GetParam(), 1, count, 0.0);
    w.kernels().copy(w.stream(), source, to);
    for (size_t i = 0; i < from.size(); ++i)
      ASSERT_EQ(to.as<uint16_t>()[i], expected[i]) << "of " << from[i] << ", number " << i;
  }
};

TEST_P(Conversions, EveryPatternKeepsItsValueAndComesBack) {
  at_each_level([&](Workbench& w) {
    const auto from = w.filled(GetParam(), 1, patterns, 0.0);
    for (int64_t i = 0; i < patterns; ++i) from.as<uint16_t>()[i] = static_cast<uint16_t>(i);
    const auto wide = w.filled(DType::f32, 1, patterns, 0.0);
    const auto back = w.filled(GetParam(), 1, patterns, 0.0);
    w.kernels().copy(w.stream(), from, wide);
    w.kernels().copy(w.stream(), wide, back);
    for (int64_t i = 0; i < patterns; ++i) {
      const auto expected = type().decode(static_cast<uint16_t>(i));
      const auto got = static_cast<double>(wide.as<float>()[i]);
      if (std::isnan(expected)) {
        ASSERT_TRUE(std::isnan(got)) << "pattern " << i;
        ASSERT_TRUE(std::isnan(type().decode(back.as<uint16_t>()[i]))) << "pattern " << i;
      } else {
        ASSERT_EQ(got, expected) << "pattern " << i;
        ASSERT_EQ(std::signbit(got), std::signbit(expected)) << "pattern " << i;
        ASSERT_EQ(back.as<uint16_t>()[i], i);
      }
    }
  });
}

TEST_P(Conversions, RoundToNearestAndTiesToEven) {
  std::vector<float> from;
  std::vector<uint16_t> expected;
  for (const int sign : {0, 0x8000}) {
    for (int i = 0; i + 1 < type().infinity(); ++i) {
      const auto low = static_cast<uint16_t>(sign | i);
      const auto high = static_cast<uint16_t>(low + 1);
      const auto middle = static_cast<float>((type().decode(low) + type().decode(high)) / 2);
      from.push_back(middle);
      expected.push_back(i % 2 == 0 ? low : high);
      from.push_back(std::nextafterf(middle, static_cast<float>(type().decode(low))));
      expected.push_back(low);
      from.push_back(std::nextafterf(middle, static_cast<float>(type().decode(high))));
      expected.push_back(high);
    }
  }
  at_each_level([&](Workbench& w) { expect_narrowed(w, from, expected); });
}

TEST_P(Conversions, WhatIsTooLargeBecomesInfinity) {
  const auto infinity = static_cast<uint16_t>(type().infinity());
  const auto largest = static_cast<uint16_t>(infinity - 1);
  const auto value = type().decode(largest);
  const auto half_step = (value - type().decode(static_cast<uint16_t>(largest - 1))) / 2;
  const auto border = static_cast<float>(value + half_step);
  const std::vector<float> from{std::nextafterf(border, 0.0F), border, -border, HUGE_VALF, -HUGE_VALF};
  const std::vector<uint16_t> expected{largest, infinity, static_cast<uint16_t>(0x8000 | infinity), infinity,
                                       static_cast<uint16_t>(0x8000 | infinity)};
  at_each_level([&](Workbench& w) { expect_narrowed(w, from, expected); });
}

TEST_P(Conversions, EveryNanStaysNan) {
  at_each_level([&](Workbench& w) {
    const auto from = w.filled(DType::f32, 1, patterns, 0.0);
    for (int64_t i = 0; i < patterns; ++i) {
      // Payloads in the low bits alone too, which rounding alone would turn into infinity.
      const auto payload = static_cast<uint32_t>(i % 2 == 0 ? i / 2 + 1 : (i / 2 + 1) << 7) & 0x7fffffU;
      const auto bits = 0x7f800000U | payload | (i % 4 < 2 ? 0U : 0x80000000U);
      std::memcpy(from.data + i * 4, &bits, 4);
    }
    const auto to = w.filled(GetParam(), 1, patterns, 0.0);
    w.kernels().copy(w.stream(), from, to);
    for (int64_t i = 0; i < patterns; ++i)
      ASSERT_TRUE(std::isnan(type().decode(to.as<uint16_t>()[i]))) << "number " << i;
  });
}

INSTANTIATE_TEST_SUITE_P(DTypes, Conversions, testing::Values(DType::bf16, DType::f16),
                         [](const auto& info) { return std::string(core::name(info.param)); });

}  // namespace
}  // namespace galvatron::kernels::test
