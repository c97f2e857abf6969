// Which steps are one with the product before them, and that the planner keeps their memory apart.
#include "program/epilogue.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "support/layer_cases.hpp"

namespace galvatron::program {
namespace {

using core::EpilogueKind;
using test::case_dims;
using test::lowered;
using test::strategy_of;

std::vector<EpilogueKind> epilogues_in(const Program& program, Phase phase) {
  std::vector<EpilogueKind> found;
  const auto& steps = program.steps(phase);
  for (size_t at = 0; at < steps.size(); ++at)
    if (const auto kind = epilogue_at(program, steps, at)) found.push_back(*kind);
  return found;
}

using Kinds = std::vector<EpilogueKind>;

TEST(Epilogue, OfAFeedForwardLayer) {
  const auto program = lowered("mlp", case_dims(), strategy_of(1, 1));
  EXPECT_EQ(epilogues_in(program, Phase::forward), Kinds{EpilogueKind::gelu});
  EXPECT_EQ(epilogues_in(program, Phase::backward),
            (Kinds{EpilogueKind::gelu_backward, EpilogueKind::column_sum}));
  EXPECT_EQ(epilogues_in(program, Phase::evaluate), Kinds{}) << "the product is needed no more";
}

TEST(Epilogue, OfAnAttentionLayerIsTheGradientOfItsBias) {
  const auto program = lowered("attention", case_dims(), strategy_of(1, 1));
  EXPECT_EQ(epilogues_in(program, Phase::forward), Kinds{});
  EXPECT_EQ(epilogues_in(program, Phase::backward), Kinds{EpilogueKind::column_sum});
}

TEST(Epilogue, TensorParallelLayersHaveTheSame) {
  const auto program = lowered("mlp", case_dims(), strategy_of(2, 1));
  EXPECT_EQ(epilogues_in(program, Phase::forward), Kinds{EpilogueKind::gelu});
  EXPECT_EQ(epilogues_in(program, Phase::backward),
            (Kinds{EpilogueKind::gelu_backward, EpilogueKind::column_sum}));
}

TEST(Epilogue, WhereGeluIsDerivedAgainItsProductIsNeeded) {
  const auto program = lowered("mlp", case_dims(), strategy_of(1, 1, 0, spec::Recompute::full));
  EXPECT_EQ(epilogues_in(program, Phase::forward), Kinds{}) << "nothing is kept";
  EXPECT_EQ(epilogues_in(program, Phase::backward),
            (Kinds{EpilogueKind::gelu, EpilogueKind::gelu_backward, EpilogueKind::column_sum}));
}

TEST(Epilogue, GatedAndUnbiasedLayersHaveNone) {
  auto dims = case_dims();
  dims.activation = core::ActivationKind::swiglu;
  dims.bias = false;
  const auto program = lowered("mlp", dims, strategy_of(1, 1));
  for (const auto phase : all_phases) EXPECT_EQ(epilogues_in(program, phase), Kinds{}) << name_of(phase);
}

/// A product into a work value, and gelu's backward of it; then a step that names one more value.
Program small_program(const Operand& gradient, const Operand& also_named) {
  Program program;
  for (const auto storage : {Storage::saved, Storage::weights, Storage::work, Storage::work, Storage::work}) {
    Value value;
    value.rows = value.cols = 4;
    value.storage = storage;
    program.values.push_back(value);
  }
  const auto whole = [](ValueId id) { return Operand{id, 0, 4, 0, 4}; };
  program.steps(Phase::backward) = {
      {StepKind::gemm, {whole(0), whole(1), {}}, {whole(2)}, GemmAttributes{}, {}},
      {StepKind::activation_backward, {whole(0), gradient}, {whole(3)}, ActivationAttributes{}, {}},
      {StepKind::copy, {also_named}, {whole(4)}, {}, {}}};
  return program;
}

TEST(Epilogue, GeluBackwardTakesTheWholeProductAndNobodyElseDoes) {
  const auto kind_of = [](const Program& program) {
    return epilogue_at(program, program.steps(Phase::backward), 0);
  };
  EXPECT_EQ(kind_of(small_program({2, 0, 4, 0, 4}, {3, 0, 4, 0, 4})), EpilogueKind::gelu_backward);
  EXPECT_EQ(kind_of(small_program({2, 0, 4, 0, 4}, {2, 0, 4, 0, 4})), std::nullopt) << "read again";
  EXPECT_EQ(kind_of(small_program({2, 0, 4, 0, 2}, {3, 0, 4, 0, 4})), std::nullopt) << "half of it";
  EXPECT_EQ(kind_of(small_program({3, 0, 4, 0, 4}, {3, 0, 4, 0, 4})), std::nullopt) << "another gradient";
  auto swiglu = small_program({2, 0, 4, 0, 4}, {3, 0, 4, 0, 4});
  swiglu.steps(Phase::backward)[1].attributes = ActivationAttributes{core::ActivationKind::swiglu};
  EXPECT_EQ(kind_of(swiglu), std::nullopt);
  EXPECT_EQ(epilogue_at(swiglu, swiglu.steps(Phase::backward), 2), std::nullopt) << "the last step";
}

/// Work values that a step and the next one name.
std::vector<ValueId> named_by(const Program& program, const Step& product, const Step& next) {
  std::vector<ValueId> ids;
  for (const auto* step : {&product, &next}) {
    for (const auto* operands : {&step->reads, &step->writes})
      for (const auto& operand : *operands)
        if (operand.present()) ids.push_back(operand.value);
    if (step->workspace.present()) ids.push_back(step->workspace.value);
  }
  std::sort(ids.begin(), ids.end());
  ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
  std::erase_if(ids, [&](ValueId id) { return program.value(id).storage != Storage::work; });
  return ids;
}

/// So large that the planner would like to put another value there.
class LargeWorkspace final : public WorkspaceRule {
 public:
  int64_t bytes(const Program&, const Step& step) const override {
    return step.kind == StepKind::gemm ? 1 << 16 : 0;
  }
};

TEST(Epilogue, OperandsOfBothStepsLieApart) {
  int64_t pairs = 0;
  for (const auto recompute : {spec::Recompute::none, spec::Recompute::full})
    for (const int32_t tp : {1, 2}) {
      LayerContext context;
      context.strategy = strategy_of(tp, 1, 0, recompute);
      context.samples = 2;
      const auto program = lower({"mlp", case_dims()}, context, LargeWorkspace());
      for (const auto phase : all_phases) {
        const auto& steps = program.steps(phase);
        for (size_t at = 0; at < steps.size(); ++at) {
          if (!epilogue_at(program, steps, at)) continue;
          ++pairs;
          const auto ids = named_by(program, steps[at], steps[at + 1]);
          for (size_t i = 0; i < ids.size(); ++i)
            for (size_t j = 0; j < i; ++j) {
              const auto &a = program.value(ids[i]), &b = program.value(ids[j]);
              EXPECT_TRUE(a.offset + a.bytes() <= b.offset || b.offset + b.bytes() <= a.offset)
                  << name_of(phase) << ": " << a.name << " and " << b.name;
            }
        }
      }
    }
  EXPECT_EQ(pairs, 12) << "three of each program";
}

}  // namespace
}  // namespace galvatron::program
