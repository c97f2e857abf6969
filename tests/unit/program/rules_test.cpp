// Why a layer cannot be split so: the rule, both numbers, and the degrees that would do.
#include <gtest/gtest.h>

#include "core/errors.hpp"
#include "support/layer_cases.hpp"

namespace galvatron::program {
namespace {

using test::strategy_of;

std::string reason(const std::string& kind, const spec::LayerDims& dims, const spec::LayerStrategy& strategy,
                   int64_t samples = 64) {
  return illegal_reason({kind, dims}, strategy, samples).value_or("");
}

spec::LayerDims dims_of(int64_t heads, int64_t kv_heads, int64_t ffn, int64_t seq) {
  auto dims = test::case_dims();
  dims.heads = heads;
  dims.kv_heads = kv_heads;
  dims.ffn = ffn;
  dims.seq = seq;
  return dims;
}

TEST(IllegalReason, ListsTheLegalDegreesOfTheHeads) {
  EXPECT_EQ(reason("attention", dims_of(28, 4, 96, 64), strategy_of(8, 1)),
            "tp = 8 does not divide heads = 28 (legal: 1, 2, 4, 28)");
}

TEST(IllegalReason, ChecksKeyValueHeadsByThemselves) {
  EXPECT_EQ(reason("attention", dims_of(28, 4, 96, 56), strategy_of(7, 1)),
            "tp = 7 neither divides kv_heads = 4 nor is a multiple of them (legal: 1, 2, 4, 28)");
}

TEST(IllegalReason, ChecksEachRuleAgainstItsOwnDimension) {
  const auto dims = dims_of(12, 12, 36, 24);
  EXPECT_EQ(reason("mlp", dims, strategy_of(8, 1)),
            "tp = 8 does not divide ffn = 36 (legal: 1, 2, 3, 4, 6, 9, 12, 18, 36)");
  EXPECT_EQ(reason("attention", dims, strategy_of(8, 1)),
            "tp = 8 does not divide heads = 12 (legal: 1, 2, 3, 4, 6, 12)");
  EXPECT_EQ(reason("embedding", dims, strategy_of(8, 1)), "") << "the vocabulary is padded";
  EXPECT_EQ(reason("embedding", dims, strategy_of(5, 1)),
            "tp = 5 does not divide seq = 24 (legal: 1, 2, 3, 4, 6, 8, 12, 24)");
  EXPECT_EQ(reason("mlp", dims, strategy_of(12, 1)), "")
      << "layers, stages and heads do not matter to an mlp";
}

TEST(IllegalReason, GivesTheNumbersOfAnAwkwardWidth) {
  EXPECT_EQ(
      reason("mlp", dims_of(12, 12, 5140, 1024), strategy_of(128, 1)),
      "tp = 128 does not divide ffn = 5140 (legal: 1, 2, 4, 5, 10, 20, 257, 514, 1028, 1285, 2570, 5140)");
}

TEST(IllegalReason, NeedsASampleForEveryDataParallelRank) {
  EXPECT_EQ(reason("mlp", test::case_dims(), strategy_of(1, 4), 3),
            "dp = 4 exceeds the 3 samples of a micro-batch");
  EXPECT_EQ(reason("mlp", test::case_dims(), strategy_of(1, 3), 4), "") << "uneven shares are legal";
}

TEST(IllegalReason, DealsHeadsOverTpAndSpTogether) {
  auto both = strategy_of(2, 1);
  both.sp = 4;
  EXPECT_EQ(reason("attention", dims_of(28, 4, 96, 64), both),
            "tp · sp = 2 · 4 = 8 does not divide heads = 28 (legal: 1, 2, 4, 28)");
  both.sp = 2;
  EXPECT_EQ(reason("attention", dims_of(28, 4, 96, 64), both), "");
  both = strategy_of(4, 1);
  both.sp = 7;
  EXPECT_EQ(reason("attention", dims_of(28, 4, 96, 28), both), "")
      << "each key/value head is read on 7 ranks";
  both.sp = 3;
  EXPECT_EQ(reason("mlp", dims_of(28, 4, 96, 24), both), "") << "an mlp has no heads";
}

TEST(IllegalReason, CutsBothZigzagHalvesOfAContextParallelBlock) {
  auto ring = strategy_of(1, 2);
  ring.cp = 5;
  EXPECT_EQ(reason("attention", test::case_dims(), ring),
            "2 · cp · tp = 10 does not divide seq = 12 (legal: 1, 2, 3, 4, 6, 12)");
  ring.cp = 2;
  ring.sp = 2;
  EXPECT_EQ(reason("mlp", test::case_dims(), ring),
            "2 · cp · sp · tp = 8 does not divide seq = 12 (legal: 1, 2, 3, 4, 6, 12)");
  ring.sp = 3;
  EXPECT_EQ(reason("mlp", test::case_dims(), ring), "");
}

TEST(IllegalReason, NamesTheAxisThatNoLayerHas) {
  auto expert = strategy_of(1, 2);
  expert.ep = 2;
  EXPECT_EQ(reason("mlp", test::case_dims(), expert), "ep = 2: no layer kind has experts to deal");
}

TEST(IllegalReason, RefusesDegreesAndLevelsOutOfRange) {
  EXPECT_EQ(reason("mlp", test::case_dims(), strategy_of(0, 1)), "tp = 0 must be at least 1");
  EXPECT_EQ(reason("mlp", test::case_dims(), strategy_of(1, 1, 4)), "zero = 4 must be 0, 1, 2 or 3");
  EXPECT_EQ(reason("mlp", test::case_dims(), strategy_of(1, 1, -1)), "zero = -1 must be 0, 1, 2 or 3");
}

TEST(IllegalReason, RefusesRecomputeWhereItFreesNothing) {
  for (const char* kind : {"embedding", "head"})
    EXPECT_NE(
        reason(kind, test::case_dims(), strategy_of(1, 1, 0, spec::Recompute::full)).find("recompute = none"),
        std::string::npos)
        << kind;
}

TEST(Lower, ThrowsWhatIllegalReasonSays) {
  try {
    test::lowered("attention", dims_of(28, 4, 96, 64), strategy_of(8, 1));
    FAIL() << "28 heads over 8 ranks";
  } catch (const core::UserError& error) {
    EXPECT_STREQ(error.what(),
                 "layer 'attention' cannot be split as tp8: tp = 8 does not divide heads = 28 "
                 "(legal: 1, 2, 4, 28)");
  }
}

TEST(Lower, NamesTheKindsThereAre) {
  try {
    illegal_reason({"convolution", test::case_dims()}, {}, 1);
    FAIL();
  } catch (const core::UserError& error) {
    EXPECT_STREQ(error.what(), "no layer kind 'convolution'; there are embedding, attention, mlp, head");
  }
}

}  // namespace
}  // namespace galvatron::program
