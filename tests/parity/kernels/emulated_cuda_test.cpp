// The kernels for CUDA without a device: their sources compiled for the host, every call of the table against
// the fp64 oracle. Threads of a block start in different orders: where one reads what another need not have
// finished, the bits differ. What this cannot show: the device's own functions, its memory's alignment rules,
// its speed.

#include "parity/kernels/attention_parts.hpp"
#include "parity/kernels/cases.hpp"
#include "parity/kernels/results.hpp"
#include "support/emulated_cuda/kernels.hpp"
#include "support/emulated_cuda/machine.hpp"

namespace galvatron::kernels::test {
namespace {

using emulated_cuda::ThreadOrder;

std::vector<Result> run(const Case& one, DType dtype, DType exact, ThreadOrder order) {
  emulated_cuda::set_thread_order(order);
  Workbench w(galvatron::test::make_emulated_kernels(), dtype, exact);
  one.run(w);
  w.expect_guards_intact();
  return w.results();
}

class EmulatedCuda : public testing::TestWithParam<Case> {};

TEST_P(EmulatedCuda, Fp32AgreesWithFp64InAnyOrderOfThreads) {
  Workbench oracle(DeviceKind::cpu, DType::f64, 1);
  GetParam().run(oracle);
  const auto got = run(GetParam(), DType::f32, DType::f32, ThreadOrder::ascending);
  expect_near(got, oracle.results(), GetParam().tolerance);
  expect_same_bits(got, run(GetParam(), DType::f32, DType::f32, ThreadOrder::descending));
}

class EmulatedCudaSixteenBits : public testing::TestWithParam<Case> {};

TEST_P(EmulatedCudaSixteenBits, AgreeWithFp64) {
  for (const auto dtype : {DType::bf16, DType::f16}) {
    Workbench oracle(DeviceKind::cpu, DType::f64, 1, dtype);
    GetParam().run(oracle);
    expect_near(run(GetParam(), dtype, dtype, ThreadOrder::odd_first), oracle.results(),
                GetParam().tolerance + GetParam().more_roundings * rounding_of(dtype));
  }
}

INSTANTIATE_TEST_SUITE_P(Table, EmulatedCuda, testing::ValuesIn(all_cases()),
                         [](const auto& info) { return info.param.name; });

INSTANTIATE_TEST_SUITE_P(Table, EmulatedCudaSixteenBits, testing::ValuesIn(cases_but_attention()),
                         [](const auto& info) { return info.param.name; });

/// Tensor cores take weights and slopes as elements: one rounding each.
TEST(EmulatedCudaAttention, TakesElementsOfSixteenBits) {
  size_t number = 0;
  for (const auto& c : attention_part_cases()) {
    if (c.positions > 150) continue;  // nothing that 130 do not show, and four times the time
    const auto dtype = number % 2 == 0 ? DType::bf16 : DType::f16;
    const auto stored = number / 2 % 2 == 0 ? Stored::elements : Stored::sums;
    ++number;
    SCOPED_TRACE(c.name());
    const Case one{c.name(), [&](Workbench& w) { run_attention_part(w, c, stored); }};
    Workbench oracle(DeviceKind::cpu, DType::f64, 1, dtype);
    one.run(oracle);
    expect_near(run(one, dtype, dtype, ThreadOrder::descending), oracle.results(), rounding_of(dtype));
  }
}

}  // namespace
}  // namespace galvatron::kernels::test
