// Every kernel call of the table: fp32, bf16 and fp16 against the fp64 oracle on the same numbers, twice for
// the same bits, on one, two and three threads, and dry. Attention on elements of 16 bits has a test of its
// own.

#include "parity/kernels/cases.hpp"
#include "parity/kernels/results.hpp"

namespace galvatron::kernels::test {
namespace {

std::vector<Result> run(const Case& one, DeviceKind kind, DType dtype, int threads,
                        DType exact = DType::f32) {
  Workbench w(kind, dtype, threads, exact);
  one.run(w);
  w.expect_guards_intact();
  return w.results();
}

class Steps : public testing::TestWithParam<Case> {};

TEST_P(Steps, Fp32AgreesWithFp64) {
  expect_near(run(GetParam(), DeviceKind::cpu, DType::f32, 1),
              run(GetParam(), DeviceKind::cpu, DType::f64, 1), GetParam().tolerance);
}

TEST_P(Steps, TwoThreadsAgreeWithOneAndRepeatTheirBits) {
  const auto two = run(GetParam(), DeviceKind::cpu, DType::f32, 2);
  expect_near(two, run(GetParam(), DeviceKind::cpu, DType::f32, 1), GetParam().tolerance);
  expect_same_bits(two, run(GetParam(), DeviceKind::cpu, DType::f32, 2));
}

TEST_P(Steps, ThreeThreadsAgreeWithTheOracle) {
  expect_near(run(GetParam(), DeviceKind::cpu, DType::f32, 3),
              run(GetParam(), DeviceKind::cpu, DType::f64, 1), GetParam().tolerance);
}

TEST_P(Steps, LowerInstructionSetLevelsAgreeWithTheOracle) {
  const auto levels = available_simd();
  if (levels.count == 1) GTEST_SKIP() << "built for one level: " << levels.table[0]->level;
  const auto expected = run(GetParam(), DeviceKind::cpu, DType::f64, 1);
  for (int64_t i = 1; i < levels.count; ++i) {
    SCOPED_TRACE(levels.table[i]->level);
    Workbench w(*levels.table[i], DType::f32, 2);
    GetParam().run(w);
    w.expect_guards_intact();
    expect_near(w.results(), expected, GetParam().tolerance);
  }
}

TEST_P(Steps, DryAcceptsTheSameCall) {
  EXPECT_NO_THROW(run(GetParam(), DeviceKind::dry, DType::f32, 2));
  EXPECT_NO_THROW(run(GetParam(), DeviceKind::dry, DType::f64, 2));
}

INSTANTIATE_TEST_SUITE_P(Table, Steps, testing::ValuesIn(all_cases()),
                         [](const auto& info) { return info.param.name; });

class SixteenBitSteps : public testing::TestWithParam<std::tuple<Case, DType>> {};

TEST_P(SixteenBitSteps, AgreeWithFp64) {
  const auto& [one, dtype] = GetParam();
  const auto expected = run(one, DeviceKind::cpu, DType::f64, 1, dtype);
  const auto tolerance = one.tolerance + one.more_roundings * rounding_of(dtype);
  expect_near(run(one, DeviceKind::cpu, dtype, 1, dtype), expected, tolerance);
  const auto three = run(one, DeviceKind::cpu, dtype, 3, dtype);
  expect_near(three, expected, tolerance);
  expect_same_bits(three, run(one, DeviceKind::cpu, dtype, 3, dtype));
  EXPECT_NO_THROW(run(one, DeviceKind::dry, dtype, 3, dtype));
  const auto levels = available_simd();
  for (int64_t i = 1; i < levels.count; ++i) {
    SCOPED_TRACE(levels.table[i]->level);
    Workbench w(*levels.table[i], dtype, 2, dtype);
    one.run(w);
    w.expect_guards_intact();
    expect_near(w.results(), expected, tolerance);
  }
}

INSTANTIATE_TEST_SUITE_P(Table, SixteenBitSteps,
                         testing::Combine(testing::ValuesIn(cases_but_attention()),
                                          testing::Values(DType::bf16, DType::f16)),
                         [](const auto& info) {
                           return std::string(core::name(std::get<1>(info.param))) + "_" +
                                  std::get<0>(info.param).name;
                         });

}  // namespace
}  // namespace galvatron::kernels::test
