// Signatures of real Programs: rows are what grows with the samples, the key is what does not.
#include "cost/signature.hpp"

#include <gtest/gtest.h>

#include <set>

#include "program/lower.hpp"
#include "support/models.hpp"

namespace galvatron::cost {
namespace {

program::Program lowered(int64_t layer, int64_t samples, spec::LayerStrategy strategy = {}) {
  program::LayerContext context;
  context.samples = samples;
  context.strategy = strategy;
  return program::lower(test::small_model(1).layers[static_cast<size_t>(layer)], context,
                        program::NoWorkspace());
}

TEST(Signature, ForwardGemmsCountTokensAsRows) {
  const auto program = lowered(2, 3);
  std::vector<std::string> keys;
  for (const auto& step : program.steps(program::Phase::forward)) {
    if (step.kind != program::StepKind::gemm) continue;
    const auto signature = signature_of(program, step);
    keys.push_back(signature.key);
    EXPECT_EQ(signature.rows, 3 * 16);
  }
  ASSERT_EQ(keys.size(), 2u);
  EXPECT_EQ(keys[0].substr(0, 25), "gemm f32 n=128 k=32 nt bi") << keys[0];
  EXPECT_EQ(keys[1].substr(0, 22), "gemm f32 n=32 k=128 nt") << keys[1];
}

TEST(Signature, WeightGradientsHaveTokensAsK) {
  const auto program = lowered(2, 3);
  bool found = false;
  for (const auto& step : program.steps(program::Phase::backward)) {
    if (step.kind != program::StepKind::gemm || !gemm_shape(program, step).tokens_are_k()) continue;
    found = true;
    const auto signature = signature_of(program, step);
    EXPECT_EQ(signature.rows, 3 * 16) << signature.key;
    EXPECT_NE(signature.key.find(" tn accumulate"), std::string::npos) << signature.key;
    const auto key = parse_gemm_key(signature.key);
    ASSERT_TRUE(key.has_value()) << signature.key;
    EXPECT_TRUE(key->tokens_are_k);
    EXPECT_EQ(key->first * key->second, 128 * 32);
  }
  EXPECT_TRUE(found);
}

TEST(Signature, SamplesChangeRowsOnly) {
  for (int64_t layer = 0; layer < 4; ++layer) {
    const auto few = lowered(layer, 1), many = lowered(layer, 2);
    for (const auto phase : {program::Phase::forward, program::Phase::backward, program::Phase::update}) {
      ASSERT_EQ(few.steps(phase).size(), many.steps(phase).size());
      for (size_t i = 0; i < few.steps(phase).size(); ++i) {
        const auto a = signature_of(few, few.steps(phase)[i]), b = signature_of(many, many.steps(phase)[i]);
        EXPECT_EQ(a.key, b.key);
        EXPECT_GE(b.rows, a.rows) << a.key;
        EXPECT_GT(a.rows, 0) << a.key;
      }
    }
  }
}

TEST(Signature, CollectivesHaveNone) {
  const auto program = lowered(2, 2, {.tp = 2});
  int64_t collectives = 0;
  for (const auto& step : program.steps(program::Phase::forward)) {
    if (step.kind != program::StepKind::collective) continue;
    ++collectives;
    EXPECT_EQ(signature_of(program, step).key, "");
    EXPECT_EQ(collective_bytes(program, step), 2 * 16 * 32 * 4) << "the gathered or unreduced tokens";
  }
  EXPECT_EQ(collectives, 2);
}

TEST(Signature, OtherTextIsNoGemm) {
  for (const char* text :
       {"", "gemm", "gemm f32", "gemm f99 n=1 k=2 nt", "norm f32 cols=3", "gemm f32 n=0 k=2"})
    EXPECT_FALSE(parse_gemm_key(text).has_value()) << text;
}

TEST(Work, CountsProductsAndBytes) {
  const auto program = lowered(2, 1);
  const auto& steps = program.steps(program::Phase::forward);
  const auto gemm = std::find_if(steps.begin(), steps.end(),
                                 [](const auto& s) { return s.kind == program::StepKind::gemm; });
  ASSERT_NE(gemm, steps.end());
  const auto work = work_of(program, *gemm);
  EXPECT_DOUBLE_EQ(work.flops, 2.0 * 16 * 128 * 32);
  EXPECT_DOUBLE_EQ(work.bytes, 4.0 * (16 * 32 + 128 * 32 + 128 + 16 * 128));
}

}  // namespace
}  // namespace galvatron::cost
