// Which collectives a layer makes, in which phase and over which axes.
#include <gtest/gtest.h>

#include <map>
#include <tuple>

#include "support/layer_cases.hpp"

namespace galvatron::program {
namespace {

using core::CollectiveKind;
using spec::Axis;
using spec::AxisSet;
using spec::Recompute;
using test::case_dims;
using test::lowered;
using test::strategy_of;

const AxisSet tp = Axis::tp, replicas = Axis::dp | Axis::cp | AxisSet(Axis::sp),
              whole_stage = replicas | AxisSet(Axis::tp);

std::string_view name_of(CollectiveKind kind) {
  switch (kind) {
    case CollectiveKind::all_reduce:
      return "all_reduce";
    case CollectiveKind::all_gather:
      return "all_gather";
    case CollectiveKind::reduce_scatter:
      return "reduce_scatter";
    case CollectiveKind::all_to_all:
      return "all_to_all";
    case CollectiveKind::shift:
      return "shift";
    default:
      return "other";
  }
}

/// "forward all_gather tp" → how often, traffic of the layers or of gradients and parameters.
using Counts = std::map<std::string, int>;

Counts counts(const Program& program, bool gradient) {
  Counts found;
  for (const auto phase : all_phases)
    for (const auto& step : program.steps(phase)) {
      if (step.kind != StepKind::collective) continue;
      const auto& a = std::get<CollectiveAttributes>(step.attributes);
      if (a.gradient != gradient) continue;
      ++found[std::string(name_of(phase)) + " " + std::string(name_of(a.kind)) + " " + to_string(a.axes)];
    }
  return found;
}

int total(const Counts& found, const std::string& without = "?") {
  int sum = 0;
  for (const auto& [name, count] : found)
    if (!name.starts_with(without)) sum += count;
  return sum;
}

TEST(LayerCollectives, TensorParallelBlocksMakeFiveInForwardAndBackward) {
  const Counts expected = {{"forward all_gather tp", 1},  {"forward reduce_scatter tp", 1},
                           {"backward all_gather tp", 2}, {"backward reduce_scatter tp", 1},
                           {"evaluate all_gather tp", 1}, {"evaluate reduce_scatter tp", 1}};
  for (const char* kind : {"attention", "mlp"})
    for (const auto recompute : {Recompute::none, Recompute::full}) {
      // What recompute runs again ends before the reduce-scatter, and backward gathers the tokens anyway.
      const auto found = counts(lowered(kind, case_dims(), strategy_of(2, 2, 0, recompute)), false);
      EXPECT_EQ(found, expected) << kind;
      EXPECT_EQ(total(found, "evaluate"), 5) << kind;
    }
}

TEST(LayerCollectives, NoneWithoutTensorParallelism) {
  for (const char* kind : {"embedding", "attention", "mlp", "head"})
    for (int32_t zero = 0; zero <= 3; ++zero)
      EXPECT_EQ(counts(lowered(kind, case_dims(), strategy_of(1, 3, zero)), false), Counts{}) << kind;
}

TEST(LayerCollectives, EmbeddingSumsItsPiecesOnce) {
  EXPECT_EQ(counts(lowered("embedding", case_dims(), strategy_of(3, 1)), false),
            (Counts{{"forward reduce_scatter tp", 1},
                    {"backward all_gather tp", 1},
                    {"evaluate reduce_scatter tp", 1}}));
}

TEST(LayerCollectives, HeadReducesTwoStatisticsAChunk) {
  EXPECT_EQ(counts(lowered("head", case_dims(), strategy_of(3, 1)), false),
            (Counts{{"forward all_gather tp", 1},
                    {"forward all_reduce tp", 2},
                    {"backward reduce_scatter tp", 1},
                    {"evaluate all_gather tp", 1},
                    {"evaluate all_reduce tp", 2}}));
}

TEST(LayerCollectives, UlyssesTradesPositionsForHeadsTwiceEachWay) {
  auto strategy = strategy_of(1, 2);
  strategy.sp = 2;
  EXPECT_EQ(
      counts(lowered("attention", case_dims(), strategy), false),
      (Counts{{"forward all_to_all sp", 2}, {"backward all_to_all sp", 2}, {"evaluate all_to_all sp", 2}}));
  EXPECT_EQ(counts(lowered("mlp", case_dims(), strategy), false), Counts{});
  strategy.recompute = Recompute::full;
  EXPECT_EQ(
      counts(lowered("attention", case_dims(), strategy), false),
      (Counts{{"forward all_to_all sp", 2}, {"backward all_to_all sp", 4}, {"evaluate all_to_all sp", 2}}));
}

TEST(LayerCollectives, TheRingPassesKeysAroundAndTheirGradientsHome) {
  auto strategy = strategy_of(1, 1);
  strategy.cp = 3;
  EXPECT_EQ(counts(lowered("attention", case_dims(), strategy), false),
            (Counts{{"forward shift cp", 2}, {"backward shift cp", 2 + 3}, {"evaluate shift cp", 2}}));
}

TEST(LayerCollectives, EveryTransferThatStartsIsWaitedForOnceWithTheSameOperands) {
  test::for_every_program([](const Program& program, const std::string& text) {
    for (const auto phase : all_phases) {
      std::map<int32_t, const Step*> under_way;
      for (const auto& step : program.steps(phase)) {
        if (step.kind == StepKind::wait) {
          const auto ticket = std::get<WaitAttributes>(step.attributes).ticket;
          ASSERT_TRUE(under_way.contains(ticket)) << text;
          EXPECT_EQ(under_way[ticket]->reads, step.reads) << text;
          EXPECT_EQ(under_way[ticket]->writes, step.writes) << text;
          under_way.erase(ticket);
          continue;
        }
        for (const auto& [ticket, transfer] : under_way)
          for (const auto& operand : step.writes)
            EXPECT_TRUE(!operand.present() || (operand.value != transfer->reads[0].value &&
                                               operand.value != transfer->writes[0].value))
                << text << ": " << name_of(step.kind) << " writes what is under way";
        const auto* a = std::get_if<CollectiveAttributes>(&step.attributes);
        if (a != nullptr && a->ticket >= 0) EXPECT_TRUE(under_way.emplace(a->ticket, &step).second) << text;
      }
      EXPECT_TRUE(under_way.empty()) << text;
    }
  });
}

TEST(ReplicaCollectives, DependOnTheZeroLevel) {
  const std::string main = " " + to_string(replicas), all = " " + to_string(whole_stage);
  const std::array<Counts, 4> expected = {Counts{{"sync all_reduce" + main, 1}, {"sync all_reduce" + all, 1}},
                                          Counts{{"sync reduce_scatter" + main, 1},
                                                 {"sync reduce_scatter" + all, 1},
                                                 {"update all_gather" + main, 1},
                                                 {"update all_gather" + all, 1}},
                                          Counts{{"backward_reduce reduce_scatter" + main, 1},
                                                 {"backward_reduce reduce_scatter" + all, 1},
                                                 {"update all_gather" + main, 1},
                                                 {"update all_gather" + all, 1}},
                                          Counts{{"gather all_gather" + main, 1},
                                                 {"gather all_gather" + all, 1},
                                                 {"backward_gather all_gather" + main, 1},
                                                 {"backward_gather all_gather" + all, 1},
                                                 {"backward_reduce reduce_scatter" + main, 1},
                                                 {"backward_reduce reduce_scatter" + all, 1}}};
  for (const char* kind : {"attention", "mlp"})
    for (const auto recompute : {Recompute::none, Recompute::full})  // the re-run uses backward's gather
      for (int32_t zero = 0; zero <= 3; ++zero)
        EXPECT_EQ(counts(lowered(kind, case_dims(), strategy_of(2, 3, zero, recompute)), true),
                  expected[static_cast<size_t>(zero)])
            << kind << " zero " << zero;
}

TEST(ReplicaCollectives, NoneOnASingleRank) {
  for (const char* kind : {"embedding", "attention", "mlp", "head"})
    for (int32_t zero = 0; zero <= 3; ++zero)
      EXPECT_EQ(counts(lowered(kind, case_dims(), strategy_of(1, 1, zero)), true), Counts{}) << kind;
}

TEST(ReplicaCollectives, OnlyWhatTensorParallelismDoesNotSplitWhenThereIsNoOtherReplica) {
  const auto all = " " + to_string(whole_stage);
  EXPECT_EQ(counts(lowered("mlp", case_dims(), strategy_of(2, 1)), true),
            (Counts{{"sync all_reduce" + all, 1}}));
}

TEST(ReplicaCollectives, TheHeadReducesItsTableInForwardWhereItIsMade) {
  auto dims = case_dims();
  dims.tied = false;
  const auto found = counts(lowered("head", dims, strategy_of(1, 2, 3)), true);
  const std::string main = " " + to_string(replicas);
  EXPECT_EQ(found, (Counts{
                       {"gather all_gather" + main, 2},  // table and norm
                       {"forward_reduce reduce_scatter" + main, 1},
                       {"backward_gather all_gather" + main, 1},  // norm
                       {"backward_reduce reduce_scatter" + main, 1},
                   }));
}

TEST(ReplicaCollectives, ATableOnTwoStagesWaitsUntilTheLaneHasEnded) {
  const std::string both = " " + to_string(replicas | AxisSet(Axis::tie));
  for (const char* kind : {"embedding", "head"}) {
    const auto found =
        counts(lowered(kind, case_dims(), strategy_of(1, 1), {}, TieScope::across_stages), true);
    EXPECT_EQ(found, (Counts{{"gradient_norm all_reduce" + both, 1}})) << kind;
    const auto zero1 =
        counts(lowered(kind, case_dims(), strategy_of(1, 1, 1), {}, TieScope::across_stages), true);
    EXPECT_EQ(zero1, (Counts{{"gradient_norm reduce_scatter" + both, 1}, {"update all_gather" + both, 1}}))
        << kind;
  }
}

TEST(ReplicaCollectives, AGuestTableIsSynchronisedByItsOwner) {
  const std::string main = " " + to_string(replicas);
  const auto guest = lowered("head", case_dims(), strategy_of(1, 2), {}, TieScope::same_stage);
  EXPECT_EQ(counts(guest, true), (Counts{{"sync all_reduce" + main, 1}})) << "the norm's alone";
}

TEST(Collectives, NameGroupsOfTheRightSize) {
  test::for_every_program([](const Program& program, const std::string& text) {
    for (const auto phase : all_phases)
      for (const auto& step : program.steps(phase)) {
        if (step.kind != StepKind::collective) continue;
        const auto& a = std::get<CollectiveAttributes>(step.attributes);
        int32_t ranks = 1;
        if (a.axes.contains(Axis::tp)) ranks *= program.strategy.tp;
        if (a.axes.contains(Axis::sp)) ranks *= program.strategy.sp;
        if (a.axes.contains(Axis::cp)) ranks *= program.strategy.cp;
        if (a.axes.contains(Axis::dp)) ranks *= program.strategy.dp;
        if (a.axes.contains(Axis::tie)) ranks *= 2;
        EXPECT_EQ(a.ranks, ranks) << text;
        EXPECT_GT(a.ranks, 1) << text << ": a collective with nobody else in phase " << name_of(phase);
      }
  });
}

}  // namespace
}  // namespace galvatron::program
