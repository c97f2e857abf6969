// A layer's compute and its parameter groups come from two Programs that are shared by many strategies: what
// they give together is what the layer's own Program gives, to the last bit.
#include <gtest/gtest.h>

#include "cost/layer_price.hpp"
#include "support/models.hpp"
#include "support/profiles.hpp"

namespace galvatron::cost {
namespace {

/// Takes room beside products and norms, so that every phase has some.
class SomeWorkspace final : public program::WorkspaceRule {
 public:
  int64_t bytes(const program::Program& program, const program::Step& step) const override {
    if (step.kind == program::StepKind::gemm) return 64 + program.value(step.writes[0].value).rows;
    return step.kind == program::StepKind::sum_of_squares ? 1 << 20 : 0;
  }
};

void expect_equal(const LayerPrice& got, const LayerPrice& expected, const std::string& what) {
  EXPECT_EQ(got.phase_seconds, expected.phase_seconds) << what;
  EXPECT_EQ(got.term_seconds, expected.term_seconds) << what;
  EXPECT_EQ(got.modelled_seconds, expected.modelled_seconds) << what;
  const auto bytes = [](const program::MemoryNeed& m) {
    return std::array{m.parameter_bytes, m.gradient_bytes, m.master_bytes,   m.moment_bytes,
                      m.saved_bytes,     m.work_bytes,     m.gathered_bytes, m.unreduced_bytes};
  };
  EXPECT_EQ(bytes(got.memory), bytes(expected.memory)) << what;
}

/// All strategies of `ranks` that the layer allows, with places on one node and across nodes.
void compare(const spec::ModelSpec& model, int64_t ranks, const Overlap& overlap, core::DType dtype) {
  const auto profile = test::round_profile(4, 4);
  const spec::ClusterSpec cluster{4, 4, 0};
  const SomeWorkspace workspace;
  LayerPricer pricer(profile, cluster, workspace, overlap);
  CostModel whole(profile, cluster, overlap);
  int64_t compared = 0;
  const auto degrees = [&](auto&& use) {
    for (int32_t tp = 1; tp <= ranks; ++tp)
      for (int32_t sp = 1; tp * sp <= ranks; ++sp)
        for (int32_t cp = 1; tp * sp * cp <= ranks; ++cp)
          if (ranks % (tp * sp * cp) == 0)
            for (const int32_t zero : {0, 1, 2, 3})
              for (const auto recompute : {spec::Recompute::none, spec::Recompute::full})
                use(spec::LayerStrategy{tp, sp, cp, static_cast<int32_t>(ranks / (tp * sp * cp)), 1, zero,
                                        recompute});
  };
  for (const auto& layer : model.layers)
    degrees([&](const spec::LayerStrategy& strategy) {
      for (const int64_t samples : {1, 3}) {
        if (program::illegal_reason(layer, strategy, samples * strategy.dp)) continue;
        const bool tied = model.tied() && (layer.kind == "embedding" || layer.kind == "head");
        program::LayerContext context;
        context.strategy = strategy;
        context.samples = samples;
        context.dtype = dtype;
        StagePlace place{0, samples == 1 ? 1 : 2, 0};
        if (tied) {
          context.tie = program::TieScope::across_stages;
          if (strategy.zero > 1) context.tie = program::TieScope::same_stage;
          if (strategy.zero <= 1) place.tie_distance = layer.kind == "head" ? -8 : 8;
        }
        const auto program = program::lower(layer, context, workspace);
        expect_equal(pricer.price(layer, context, place), whole.price(program, place),
                     layer.kind + " " + spec::to_string(strategy));
        ++compared;
      }
    });
  EXPECT_GT(compared, 100);
}

TEST(Digest, TwoProgramsGiveWhatTheLayersOwnOneGives) {
  compare(test::small_model(1), 4, {}, core::DType::f32);
  compare(test::small_model(1), 8, {}, core::DType::bf16);
}

TEST(Digest, LikewiseWhenNothingIsHidden) {
  compare(test::small_model(1), 8, {false, false, false}, core::DType::f32);
}

}  // namespace
}  // namespace galvatron::cost
