// Attention on elements of 16 bits against the fp64 oracle on the same numbers: where results are sums only
// fp32 arithmetic parts them, where results are elements one rounding more.

#include <algorithm>

#include "parity/kernels/attention_parts.hpp"

namespace galvatron::kernels::test {
namespace {

class SixteenBitAttention : public testing::TestWithParam<std::tuple<AttentionPartCase, DType, Stored>> {};

std::vector<Result> run(const AttentionPartCase& c, DType dtype, int threads, DType exact, Stored stored) {
  Workbench w(DeviceKind::cpu, dtype, threads, exact);
  run_attention_part(w, c, stored);
  w.expect_guards_intact();
  return w.results();
}

TEST_P(SixteenBitAttention, AgreesWithTheOracle) {
  const auto& [c, dtype, stored] = GetParam();
  const auto expected = run(c, DType::f64, 1, dtype, stored);
  const auto rounding = stored == Stored::sums ? 0.0 : dtype == DType::bf16 ? 0x1p-8 : 0x1p-11;
  for (const auto threads : {1, 3}) {
    const auto got = run(c, dtype, threads, dtype, stored);
    ASSERT_EQ(got.size(), expected.size());
    for (size_t r = 0; r < got.size(); ++r) {
      ASSERT_EQ(got[r].values.size(), expected[r].values.size()) << got[r].name;
      double largest = 0;
      for (const auto value : expected[r].values) largest = std::max(largest, std::abs(value));
      for (size_t i = 0; i < got[r].values.size(); ++i) {
        const auto value = expected[r].values[i];
        ASSERT_LE(std::abs(got[r].values[i] - value), rounding * std::abs(value) + 3e-6 * largest)
            << got[r].name << "[" << i << "] on " << threads << " threads: expected " << value << ", got "
            << got[r].values[i];
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Parts, SixteenBitAttention,
                         testing::Combine(testing::ValuesIn(attention_part_cases()),
                                          testing::Values(DType::bf16, DType::f16),
                                          testing::Values(Stored::elements, Stored::sums)),
                         [](const auto& info) {
                           return std::string(core::name(std::get<1>(info.param))) +
                                  (std::get<2>(info.param) == Stored::sums ? "_sums_" : "_") +
                                  std::get<0>(info.param).name();
                         });

}  // namespace
}  // namespace galvatron::kernels::test
