// Every kernel call of the parity table on a CUDA device, against the fp64 oracle of the CPU on the same
// numbers and twice for the same bits. Operands lie in memory of the host that the device reaches.

#include "gpu/support.hpp"
#include "parity/kernels/attention_parts.hpp"
#include "parity/kernels/cases.hpp"
#include "parity/kernels/results.hpp"

namespace galvatron::kernels::test {
namespace {

class CudaSteps : public testing::Test {
 protected:
  void SetUp() override {
    const auto [device, reason] = galvatron::test::cuda_device();
    if (!device) GTEST_SKIP() << reason;
  }

  static std::vector<Result> run(const Case& one, DeviceKind kind, DType dtype, DType exact) {
    Workbench w(kind, dtype, 1, exact);
    one.run(w);
    w.expect_guards_intact();
    return w.results();
  }

  static void expect_agrees(const Case& one, DType dtype) {
    SCOPED_TRACE(one.name + " in " + std::string(core::name(dtype)));
    const auto got = run(one, DeviceKind::cuda, dtype, dtype);
    expect_near(got, run(one, DeviceKind::cpu, DType::f64, dtype),
                one.tolerance + one.more_roundings * rounding_of(dtype));
    expect_same_bits(got, run(one, DeviceKind::cuda, dtype, dtype));
  }
};

class CudaStep : public CudaSteps, public testing::WithParamInterface<Case> {};

TEST_P(CudaStep, Fp32AgreesWithFp64) {
  expect_agrees(GetParam(), DType::f32);
}

INSTANTIATE_TEST_SUITE_P(Table, CudaStep, testing::ValuesIn(all_cases()),
                         [](const auto& info) { return info.param.name; });

class CudaSixteenBitStep : public CudaSteps, public testing::WithParamInterface<Case> {};

TEST_P(CudaSixteenBitStep, AgreesWithFp64) {
  expect_agrees(GetParam(), DType::bf16);
  expect_agrees(GetParam(), DType::f16);
}

INSTANTIATE_TEST_SUITE_P(Table, CudaSixteenBitStep, testing::ValuesIn(cases_but_attention()),
                         [](const auto& info) { return info.param.name; });

/// Tensor cores take weights and slopes as elements: one rounding each.
TEST_F(CudaSteps, AttentionTakesElementsOfSixteenBits) {
  for (const auto& c : attention_part_cases()) {
    for (const auto stored : {Stored::elements, Stored::sums}) {
      for (const auto dtype : {DType::bf16, DType::f16}) {
        expect_agrees({c.name(), [&](Workbench& w) { run_attention_part(w, c, stored); }, rounding_of(dtype)},
                      dtype);
      }
    }
  }
}

}  // namespace
}  // namespace galvatron::kernels::test
