// The planner: what is alive together never overlaps, nothing leaves its region, and the regions are no
// larger than what they hold.
#include "program/memory.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "support/layer_cases.hpp"

namespace galvatron::program {
namespace {

struct Life {
  size_t first = 0, last = 0;
};

template <class Use>
void for_each_operand(const Step& step, const Use& use) {
  for (const auto& operand : step.reads)
    if (operand.present()) use(operand);
  for (const auto& operand : step.writes)
    if (operand.present()) use(operand);
  if (step.workspace.present()) use(step.workspace);
}

std::map<ValueId, Life> lives_of(const Program& program, Phase phase) {
  std::map<ValueId, Life> lives;
  const auto& steps = program.steps(phase);
  for (size_t at = 0; at < steps.size(); ++at)
    for_each_operand(steps[at], [&](const Operand& operand) {
      if (program.value(operand.value).storage != Storage::work) return;
      lives.try_emplace(operand.value, Life{at, at}).first->second.last = at;
    });
  return lives;
}

/// The first pair of work values of a phase that share a byte while both are alive; empty when there is none.
std::string overlap_in(const Program& program, Phase phase) {
  const auto lives = lives_of(program, phase);
  for (auto a = lives.begin(); a != lives.end(); ++a)
    for (auto b = std::next(a); b != lives.end(); ++b) {
      if (a->second.first > b->second.last || b->second.first > a->second.last) continue;
      const auto &va = program.value(a->first), &vb = program.value(b->first);
      if (va.offset < vb.offset + vb.bytes() && vb.offset < va.offset + va.bytes())
        return va.name + " and " + vb.name;
    }
  return {};
}

/// 100 bytes for every gemm and attention step: odd, so that alignment matters.
class SomeWorkspace final : public WorkspaceRule {
 public:
  int64_t bytes(const Program&, const Step& step) const override {
    return step.kind == StepKind::gemm || step.kind == StepKind::attention_backward ? 100 : 0;
  }
};

TEST(WorkMemory, ValuesAliveTogetherDoNotOverlap) {
  const auto cases = test::for_every_program([](const Program& program, const std::string& text) {
    for (const auto phase : all_phases)
      EXPECT_EQ(overlap_in(program, phase), "") << text << ", " << name_of(phase);
  });
  EXPECT_GT(cases, 500);
}

TEST(WorkMemory, WorkspaceIsPlannedWithTheRest) {
  for (const char* kind : {"attention", "mlp", "head", "embedding"}) {
    LayerContext context;
    context.samples = 3;
    const auto program = lower({kind, test::case_dims()}, context, SomeWorkspace());
    for (const auto phase : all_phases) EXPECT_EQ(overlap_in(program, phase), "") << kind;
    if (std::string(kind) != "embedding") {
      EXPECT_GT(program.memory.work_bytes, 0);
    }
  }
}

TEST(WorkMemory, SpansWhatItsFullestPhaseReaches) {
  test::for_every_program([](const Program& program, const std::string& text) {
    int64_t reached = 0;
    for (const auto phase : all_phases)
      for (const auto& [id, life] : lives_of(program, phase))
        reached = std::max(reached, program.value(id).offset + aligned(program.value(id).bytes()));
    EXPECT_EQ(program.memory.work_bytes, reached) << text;
  });
}

TEST(WorkMemory, IsReusedOnceAValueIsDead) {
  const auto program = test::lowered("mlp", test::case_dims(), test::strategy_of(1, 1));
  int64_t sum = 0;
  for (const auto& [id, life] : lives_of(program, Phase::backward)) sum += aligned(program.value(id).bytes());
  EXPECT_LT(program.memory.work_bytes, sum);
}

TEST(Operands, StayInsideTheirValues) {
  test::for_every_program([](const Program& program, const std::string& text) {
    for (const auto phase : all_phases)
      for (const auto& step : program.steps(phase))
        for_each_operand(step, [&](const Operand& operand) {
          const auto& value = program.value(operand.value);
          const bool inside = operand.row >= 0 && operand.col >= 0 && operand.rows > 0 && operand.cols > 0 &&
                              operand.row + operand.rows <= value.rows &&
                              operand.col + operand.cols <= value.cols;
          EXPECT_TRUE(inside) << text << ": " << name_of(step.kind) << " on " << value.name;
        });
  });
}

TEST(SavedMemory, IsDisjointAlignedAndExact) {
  test::for_every_program([](const Program& program, const std::string& text) {
    std::vector<std::pair<int64_t, int64_t>> places;
    for (const auto& value : program.values)
      if (value.storage == Storage::saved) places.emplace_back(value.offset, value.bytes());
    std::sort(places.begin(), places.end());
    int64_t end = 0;
    for (const auto& [offset, bytes] : places) {
      EXPECT_EQ(offset, end) << text;
      EXPECT_EQ(offset % memory_alignment, 0) << text;
      end = offset + aligned(bytes);
    }
    EXPECT_EQ(program.memory.saved_bytes, end) << text;
  });
}

/// [offset, offset + bytes) of every persistent buffer that a group really has (a view of another counts
/// not).
std::vector<std::pair<int64_t, int64_t>> persistent_buffers(const Program& program) {
  std::vector<std::pair<int64_t, int64_t>> buffers;
  for (size_t g = 0; g < program.groups.size(); ++g) {
    const auto& group = program.groups[g];
    const auto& at = program.placements[g];
    const auto element = core::size_of(group.dtype), shard = group.shard() * element,
               whole = group.padded * element, moment = group.moment_elements() * element;
    if (!group.stored_here()) continue;
    buffers.emplace_back(group.zero >= 3 ? at.weight_shard : at.weights, group.zero >= 3 ? shard : whole);
    buffers.emplace_back(group.zero >= 2 ? at.gradient_shard : at.gradients, group.zero >= 2 ? shard : whole);
    buffers.emplace_back(at.exp_avg, moment);
    buffers.emplace_back(at.exp_avg_sq, moment);
  }
  std::sort(buffers.begin(), buffers.end());
  return buffers;
}

TEST(PersistentMemory, IsDisjointAndExact) {
  test::for_every_program([](const Program& program, const std::string& text) {
    int64_t end = 0;
    for (const auto& [offset, bytes] : persistent_buffers(program)) {
      EXPECT_EQ(offset, end) << text;
      end = offset + aligned(bytes);
    }
    EXPECT_EQ(program.memory.persistent_bytes(), end) << text;
  });
}

TEST(PersistentMemory, ShrinksWithTheZeroLevel) {
  // 4 replicas; per element fp32: weights, gradients, two moments.
  std::vector<int64_t> bytes;
  for (int32_t zero = 0; zero <= 3; ++zero)
    bytes.push_back(
        test::lowered("mlp", test::case_dims(), test::strategy_of(1, 4, zero)).memory.persistent_bytes());
  const auto p = test::lowered("mlp", test::case_dims(), test::strategy_of(1, 1)).groups[0].elements * 4;
  const auto near = [](int64_t a, int64_t b) { return std::abs(a - b) <= 4 * memory_alignment; };
  EXPECT_TRUE(near(bytes[0], 4 * p)) << bytes[0];
  EXPECT_TRUE(near(bytes[1], 2 * p + p / 2)) << bytes[1];
  EXPECT_TRUE(near(bytes[2], p + p / 4 + p / 2)) << bytes[2];
  EXPECT_TRUE(near(bytes[3], p)) << bytes[3];
}

TEST(ScratchMemory, HoldsWholeGroupsWhereShardsAreKept) {
  test::for_every_program([](const Program& program, const std::string& text) {
    int64_t gathered = 0, unreduced = 0;
    for (const auto& group : program.groups) {
      const auto whole = aligned(group.padded * core::size_of(group.dtype));
      if (group.zero >= 3) gathered += whole;
      if (group.zero >= 2) unreduced += whole;
    }
    EXPECT_EQ(program.memory.gathered_bytes, gathered) << text;
    EXPECT_EQ(program.memory.unreduced_bytes, unreduced) << text;
  });
}

}  // namespace
}  // namespace galvatron::program
