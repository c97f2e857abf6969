// Backward follows from forward: every input's and every parameter's gradient is made, from values that exist
// when they are read, and each in the phase that its group names.
#include <gtest/gtest.h>

#include <set>

#include "support/layer_cases.hpp"

namespace galvatron::program {
namespace {

using test::case_dims;
using test::lowered;
using test::strategy_of;

int count(const Program& program, Phase phase, StepKind kind) {
  int n = 0;
  for (const auto& step : program.steps(phase)) n += step.kind == kind ? 1 : 0;
  return n;
}

TEST(Backward, AttentionInSteps) {
  const auto program = lowered("attention", case_dims(), strategy_of(1, 1));
  EXPECT_EQ(count(program, Phase::forward, StepKind::gemm), 2);
  EXPECT_EQ(count(program, Phase::backward, StepKind::gemm), 4) << "data and weight gradient of each";
  EXPECT_EQ(count(program, Phase::backward, StepKind::attention), 0) << "its result is kept";
  EXPECT_EQ(count(program, Phase::backward, StepKind::norm), 1) << "made again, not kept";
  EXPECT_EQ(count(program, Phase::backward, StepKind::column_sum), 2) << "two biases";
}

TEST(Backward, RecomputeRunsForwardAgainUpToTheLastLinear) {
  const auto attention = lowered("attention", case_dims(), strategy_of(1, 1, 0, spec::Recompute::full));
  EXPECT_EQ(count(attention, Phase::backward, StepKind::attention), 1);
  EXPECT_EQ(count(attention, Phase::backward, StepKind::norm), 1);
  EXPECT_EQ(count(attention, Phase::backward, StepKind::gemm), 5) << "the output projection is not needed";
  const auto mlp = lowered("mlp", case_dims(), strategy_of(1, 1, 0, spec::Recompute::full));
  EXPECT_EQ(count(mlp, Phase::backward, StepKind::gemm), 5);
  EXPECT_EQ(count(mlp, Phase::backward, StepKind::activation), 1);
}

TEST(Backward, ResidualGradientIsAddedByTheNorm) {
  const auto program = lowered("mlp", case_dims(), strategy_of(1, 1));
  EXPECT_EQ(count(program, Phase::backward, StepKind::add), 0);
  EXPECT_EQ(count(program, Phase::backward, StepKind::copy), 0);
}

/// Values of a storage that a phase reads or writes.
std::set<ValueId> touched(const Program& program, Phase phase, Storage storage) {
  std::set<ValueId> ids;
  for (const auto& step : program.steps(phase)) {
    auto touch = [&](const Operand& operand) {
      if (operand.present() && program.value(operand.value).storage == storage) ids.insert(operand.value);
    };
    for (const auto& operand : step.reads) touch(operand);
    for (const auto& operand : step.writes) touch(operand);
    touch(step.workspace);
  }
  return ids;
}

bool accumulates(const Step& step) {
  const auto* gemm = std::get_if<GemmAttributes>(&step.attributes);
  return gemm != nullptr && gemm->write == core::Write::accumulate;
}

/// Names of work values that a phase reads before it has written them.
std::vector<std::string> read_before_written(const Program& program, Phase phase) {
  std::set<ValueId> written;
  std::vector<std::string> wrong;
  for (const auto& step : program.steps(phase)) {
    auto require = [&](const Operand& operand) {
      if (!operand.present() || program.value(operand.value).storage != Storage::work) return;
      if (!written.contains(operand.value)) wrong.push_back(program.value(operand.value).name);
    };
    for (const auto& operand : step.reads) require(operand);
    const bool in_place = step.kind == StepKind::collective && step.reads.empty();
    if (in_place || accumulates(step))
      for (const auto& operand : step.writes) require(operand);
    for (const auto& operand : step.writes)
      if (operand.present()) written.insert(operand.value);
  }
  return wrong;
}

TEST(EveryProgram, ReadsWorkOnlyAfterWritingIt) {
  const auto cases = test::for_every_program([](const Program& program, const std::string& text) {
    for (const auto phase : all_phases)
      EXPECT_EQ(read_before_written(program, phase), std::vector<std::string>{})
          << text << ", " << name_of(phase);
  });
  EXPECT_GT(cases, 500);
}

TEST(EveryProgram, UsesNoWorkValueInTwoPhases) {
  test::for_every_program([](const Program& program, const std::string& text) {
    std::set<ValueId> seen;
    for (const auto phase : all_phases)
      for (const auto id : touched(program, phase, Storage::work))
        EXPECT_TRUE(seen.insert(id).second)
            << text << ": " << program.value(id).name << " again in " << name_of(phase);
  });
}

TEST(EveryProgram, BackwardReadsWhatForwardSavedAndEvaluationSavesNothing) {
  test::for_every_program([](const Program& program, const std::string& text) {
    const std::set<ValueId> given = {program.input, program.tokens, program.labels};
    std::set<ValueId> written = given;
    for (const auto& step : program.steps(Phase::forward))
      for (const auto& operand : step.writes)
        if (operand.present()) written.insert(operand.value);
    for (const auto id : touched(program, Phase::backward, Storage::saved))
      EXPECT_TRUE(written.contains(id)) << text << ": " << program.value(id).name << " was not saved";
    for (const auto id : touched(program, Phase::evaluate, Storage::saved))
      EXPECT_TRUE(given.contains(id)) << text << ": evaluation touches " << program.value(id).name;
    const auto used = touched(program, Phase::backward, Storage::saved);
    for (size_t i = 0; i < program.values.size(); ++i) {
      const auto id = static_cast<ValueId>(i);
      if (program.values[i].storage != Storage::saved || given.contains(id)) continue;
      EXPECT_TRUE(used.contains(id)) << text << ": " << program.values[i].name << " is saved for nobody";
    }
  });
}

/// Elements of each group's gradients that a phase writes, by value.
TEST(EveryProgram, WritesEveryGradientInItsGroupsPhaseAndNowhereElse) {
  test::for_every_program([](const Program& program, const std::string& text) {
    for (size_t g = 0; g < program.groups.size(); ++g) {
      const auto& group = program.groups[g];
      std::vector<int> hits(static_cast<size_t>(group.elements));
      for (const auto phase : {Phase::forward, Phase::backward, Phase::evaluate}) {
        std::set<ValueId> ids;
        for (const auto& step : program.steps(phase)) {
          if (step.kind == StepKind::fill || step.kind == StepKind::collective) continue;
          for (const auto& operand : step.writes)
            if (operand.present() && program.value(operand.value).storage == Storage::gradients)
              ids.insert(operand.value);
        }
        for (const auto id : ids) {
          const auto& value = program.value(id);
          if (value.group != static_cast<int32_t>(g)) continue;
          EXPECT_EQ(phase, group.gradient_phase) << text << ": gradient of " << value.name;
          const auto first = value.offset / core::size_of(value.dtype);
          for (int64_t e = first; e < first + value.elements(); ++e) ++hits[static_cast<size_t>(e)];
        }
      }
      for (const auto hit : hits) ASSERT_EQ(hit, 1) << text << ": group " << group.name;
    }
  });
}

TEST(EveryProgram, EndsBackwardWithTheInputsGradient) {
  test::for_every_program([](const Program& program, const std::string& text) {
    if (program.input == no_value) return;
    EXPECT_EQ(touched(program, Phase::backward, Storage::input_gradient),
              std::set<ValueId>{program.input_gradient})
        << text;
  });
}

}  // namespace
}  // namespace galvatron::program
