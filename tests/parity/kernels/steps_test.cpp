// Every kernel call of the table: fp32, bf16 and fp16 against the fp64 oracle on the same numbers, twice for
// the same bits, on one, two and three threads, and dry. Attention on elements of 16 bits has a test of its
// own.

#include <algorithm>
#include <cstring>

#include "core/errors.hpp"
#include "parity/kernels/cases.hpp"

namespace galvatron::kernels::test {
namespace {

struct StepRow {
  const char* step;
  std::vector<Case> (*cases)();
};

constexpr StepRow steps[] = {
    {"gemm", gemm_cases},
    {"add", add_cases},
    {"column_sum and sum_of_squares", column_sum_cases},
    {"embedding", embedding_cases},
    {"positions", position_cases},
    {"fill and copy", fill_and_copy_cases},
    {"norm", norm_cases},
    {"activation", activation_cases},
    {"attention", attention_cases},
    {"cross_entropy", cross_entropy_cases},
    {"adamw and sgd", optimizer_cases},
};

std::vector<Case> all_cases() {
  std::vector<Case> all;
  for (const auto& row : steps) {
    for (auto& one : row.cases()) all.push_back(std::move(one));
  }
  return all;
}

std::vector<Result> run(const Case& one, DeviceKind kind, DType dtype, int threads,
                        DType exact = DType::f32) {
  Workbench w(kind, dtype, threads, exact);
  one.run(w);
  w.expect_guards_intact();
  return w.results();
}

double largest(const std::vector<double>& values) {
  double most = 0;
  for (const auto value : values) most = std::max(most, std::abs(value));
  return most;
}

/// Half of the distance of neighbours, relative to their size.
double rounding_of(DType dtype) {
  if (dtype == DType::bf16) return 0x1p-8;
  return dtype == DType::f16 ? 0x1p-11 : 0.0;
}

void expect_near(const std::vector<Result>& got, const std::vector<Result>& expected, double tolerance) {
  ASSERT_EQ(got.size(), expected.size());
  for (size_t r = 0; r < got.size(); ++r) {
    ASSERT_EQ(got[r].values.size(), expected[r].values.size()) << got[r].name;
    const auto bound = (tolerance + rounding_of(got[r].dtype)) * std::max(largest(expected[r].values), 1e-3);
    for (size_t i = 0; i < got[r].values.size(); ++i) {
      ASSERT_LE(std::abs(got[r].values[i] - expected[r].values[i]), bound)
          << got[r].name << "[" << i << "]: expected " << expected[r].values[i] << ", got "
          << got[r].values[i];
    }
  }
}

void expect_same_bits(const std::vector<Result>& first, const std::vector<Result>& second) {
  for (size_t r = 0; r < first.size(); ++r) {
    for (size_t i = 0; i < first[r].values.size(); ++i) {
      ASSERT_EQ(std::memcmp(&first[r].values[i], &second[r].values[i], sizeof(double)), 0)
          << first[r].name << "[" << i << "]: " << first[r].values[i] << " then " << second[r].values[i];
    }
  }
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
  expect_near(run(one, DeviceKind::cpu, dtype, 1, dtype), expected, one.tolerance);
  const auto three = run(one, DeviceKind::cpu, dtype, 3, dtype);
  expect_near(three, expected, one.tolerance);
  expect_same_bits(three, run(one, DeviceKind::cpu, dtype, 3, dtype));
  EXPECT_NO_THROW(run(one, DeviceKind::dry, dtype, 3, dtype));
  const auto levels = available_simd();
  for (int64_t i = 1; i < levels.count; ++i) {
    SCOPED_TRACE(levels.table[i]->level);
    Workbench w(*levels.table[i], dtype, 2, dtype);
    one.run(w);
    w.expect_guards_intact();
    expect_near(w.results(), expected, one.tolerance);
  }
}

std::vector<Case> cases_but_attention() {
  auto cases = all_cases();
  std::erase_if(cases, [](const Case& one) { return one.name.starts_with("attention"); });
  return cases;
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
