// What a layer keeps from forward to backward, by name and by size: the promise behind the memory figures.
#include <gtest/gtest.h>

#include <map>

#include "program/memory.hpp"
#include "support/layer_cases.hpp"

namespace galvatron::program {
namespace {

using spec::Recompute;
using test::case_dims;
using test::lowered;
using test::strategy_of;
using Sizes = std::map<std::string, int64_t>;

Sizes saved(const Program& program) {
  Sizes sizes;
  for (const auto& value : program.values)
    if (value.storage == Storage::saved) sizes[value.name] += value.bytes();
  return sizes;
}

constexpr int64_t samples = 2, seq = 12, hidden = 24, f32 = 4;

class Saved : public testing::TestWithParam<int32_t> {
 protected:
  int64_t tp() const { return GetParam(); }
  int64_t rows() const { return samples * seq / tp(); }  // of this rank
  int64_t gathered() const { return samples * seq; }     // of its tp group
};
INSTANTIATE_TEST_SUITE_P(TensorParallel, Saved, testing::Values(1, 2, 4));

TEST_P(Saved, AttentionKeepsInputProjectionsResultAndLogSumExp) {
  const auto program = lowered("attention", case_dims(), strategy_of(GetParam(), 1));
  EXPECT_EQ(saved(program), (Sizes{{"input", rows() * hidden * f32},
                                   {"linear", gathered() * (3 * hidden / tp()) * f32},
                                   {"attention", gathered() * (hidden / tp()) * f32},
                                   {"attention.lse", gathered() * (12 / tp()) * f32}}));
}

TEST_P(Saved, FewerKeyValueHeadsKeepLess) {
  auto dims = case_dims();
  dims.kv_heads = 4;  // of 2 columns each
  const auto program = lowered("attention", dims, strategy_of(GetParam(), 1));
  EXPECT_EQ(saved(program)["linear"], gathered() * ((24 + 8 + 8) / tp()) * f32);
}

TEST_P(Saved, MlpKeepsInputAndPreActivation) {
  const auto program = lowered("mlp", case_dims(), strategy_of(GetParam(), 1));
  EXPECT_EQ(saved(program),
            (Sizes{{"input", rows() * hidden * f32}, {"linear", gathered() * (36 / tp()) * f32}}));
}

TEST_P(Saved, RecomputeKeepsTheInputAlone) {
  for (const char* kind : {"attention", "mlp"}) {
    const auto program = lowered(kind, case_dims(), strategy_of(GetParam(), 1, 0, Recompute::full));
    EXPECT_EQ(saved(program), (Sizes{{"input", rows() * hidden * f32}})) << kind;
    EXPECT_EQ(program.memory.saved_bytes, aligned(rows() * hidden * f32)) << kind;
  }
}

TEST_P(Saved, EmbeddingKeepsItsTokens) {
  EXPECT_EQ(saved(lowered("embedding", case_dims(), strategy_of(GetParam(), 1))),
            (Sizes{{"tokens", gathered() * 4}}));
}

TEST_P(Saved, HeadKeepsInputLabelsAndTheGradientMadeInForward) {
  EXPECT_EQ(saved(lowered("head", case_dims(), strategy_of(GetParam(), 1))),
            (Sizes{{"input", rows() * hidden * f32},
                   {"labels", gathered() * 4},
                   {"loss.gradient", gathered() * hidden * f32}}));
}

TEST_P(Saved, ZeroChangesNothing) {
  for (const char* kind : {"embedding", "attention", "mlp", "head"})
    for (int32_t zero = 1; zero <= 3; ++zero)
      EXPECT_EQ(saved(lowered(kind, case_dims(), strategy_of(GetParam(), 2, zero))),
                saved(lowered(kind, case_dims(), strategy_of(GetParam(), 2, 0))))
          << kind << " zero " << zero;
}

TEST(SavedStatistics, AreWiderInDoublePrecisionOnly) {
  const auto program =
      lowered("attention", case_dims(), strategy_of(1, 1), {}, TieScope::none, samples, core::DType::f64);
  EXPECT_EQ(saved(program)["attention.lse"], samples * seq * 12 * 8);
}

TEST(Logits, NeverExistWhole) {
  auto dims = case_dims();
  dims.vocab = 50257;
  dims.seq = 1024;
  const auto program = lowered("head", dims, strategy_of(1, 1));
  for (const auto& value : program.values)
    EXPECT_LT(value.storage == Storage::work ? value.elements() : 0, 64 * 50257 + 1) << value.name;
}

}  // namespace
}  // namespace galvatron::program
