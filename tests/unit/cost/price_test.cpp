// Prices of layers and plans: terms add up, memory is the arena's, what is not measured is said.
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "cost/group_reserve.hpp"
#include "cost/plan_price.hpp"
#include "cost/signature.hpp"
#include "plan/by_hand.hpp"
#include "plan/lowering.hpp"
#include "program/pieces.hpp"
#include "support/models.hpp"
#include "support/profiles.hpp"

namespace galvatron::cost {
namespace {

const spec::ModelSpec model = test::small_model(3);
const program::NoWorkspace no_workspace;

plan::Plan plan_of(int64_t world, int64_t pp, int64_t tp, int32_t zero) {
  plan::UniformPlan wish;
  wish.world = world;
  wish.batch = 8;
  wish.pp = pp;
  wish.tp = tp;
  wish.zero = zero;
  return plan::plan_by_hand(wish, model);
}

double sum_of(const std::vector<plan::Term>& terms) {
  double sum = 0;
  for (const auto& term : terms) sum += term.amount;
  return sum;
}

TEST(PlanPrice, MemoryIsTheArenasByteForByte) {
  auto profile = test::round_profile(1, 8);
  profile.hardware.reserve_bytes = 1000;
  LayerPricer pricer(profile, {1, 8, 0}, no_workspace);
  for (const auto& [pp, tp] : {std::pair{1, 1}, {1, 2}, {2, 1}, {2, 2}, {4, 1}})
    for (int32_t zero : {0, 1, 2, 3}) {
      const auto plan = plan_of(8, pp, tp, zero);
      const auto price = price_plan(plan, model, core::DType::f32, pricer);
      for (int64_t stage = 0; stage < pp; ++stage) {
        const auto lowered =
            plan::lower_stage(plan, model, stage * plan.ranks_per_stage(), core::DType::f32, no_workspace);
        const auto& predicted = price.stages[static_cast<size_t>(stage)];
        EXPECT_EQ(predicted.memory_bytes, lowered.arena.total() + 1000)
            << "pp " << pp << " tp " << tp << " zero " << zero << " stage " << stage;
        EXPECT_DOUBLE_EQ(sum_of(predicted.memory_terms), static_cast<double>(predicted.memory_bytes));
      }
    }
}

TEST(PlanPrice, GroupsOfRanksAreATermOfMemory) {
  auto profile = test::round_profile(2, 4);
  const spec::ClusterSpec cluster{2, 4, 0};
  const auto groups = [&](const plan::Plan& plan) {
    LayerPricer pricer(profile, cluster, no_workspace);
    const auto price = price_plan(plan, model, core::DType::f32, pricer);
    double most = 0;
    for (const auto& stage : price.stages)
      for (const auto& term : stage.memory_terms)
        if (term.name == "groups") most = std::max(most, term.amount);
    for (const auto& stage : price.stages)
      EXPECT_DOUBLE_EQ(sum_of(stage.memory_terms), static_cast<double>(stage.memory_bytes));
    return most;
  };
  EXPECT_EQ(groups(plan_of(8, 1, 2, 0)), 0) << "nothing was measured";
  profile.hardware.reserve_units = {1000000, 10000, 100};
  EXPECT_EQ(groups(plan_of(8, 8, 1, 0)), 1000000 + 100) << "the ends hold the tied table together";
  EXPECT_EQ(groups(plan_of(8, 1, 1, 0)), 1000000 + 100) << "replicas, and a thread that reduces";
  EXPECT_EQ(groups(plan_of(8, 1, 2, 0)), 3000000 + 100) << "tp, replicas, all";
  EXPECT_EQ(least_group_reserve(profile.hardware.reserve_units, 1), 0);
  EXPECT_EQ(least_group_reserve(profile.hardware.reserve_units, 8), 10000 + 100) << "they may have windows";
  // Pairs of neighbours talk through shared memory, and all eight by levels: two members, and four of a node.
  const core::FormRow shared{core::CollectiveKind::all_gather, 0, core::Form::shared};
  const core::FormRow levels{core::CollectiveKind::all_reduce, 0, core::Form::hierarchical};
  profile.hardware.forms = {{2, 1, 2, shared}, {3, 1, 3, shared}, {8, 2, 4, levels}};
  auto plan = plan_of(8, 1, 2, 0);
  plan.forms = forms_of(plan, model, profile.hardware.forms, cluster);
  EXPECT_EQ(plan.forms, (std::vector<core::FormChoice>{{2, 1, 2, shared}, {8, 2, 4, levels}}));
  EXPECT_EQ(groups(plan), 3000000 + 6 * 10000 + 100) << "reductions stay direct in both";
  for (const auto kind : {core::CollectiveKind::all_reduce, core::CollectiveKind::reduce_scatter})
    plan.forms.push_back({2, 1, 2, {kind, 4096, core::Form::shared}});
  EXPECT_EQ(groups(plan), 2000000 + 6 * 10000 + 100) << "pairs reduce through their windows";
}

/// The same numbers as from the ranks themselves: groups, messages and the tied pair cross the nodes that
/// their ranks are on.
TEST(PlanPrice, PlacementsCrossTheNodesThatTheirRanksAreOn) {
  // Two nodes of four. Two stages of four, dp 4: stage-major keeps a stage on a node.
  const auto profile = test::round_profile(2, 4);
  LayerPricer pricer(profile, {2, 4, 0}, no_workspace, {false, false, false});  // nothing hides the traffic
  auto plan = plan_of(8, 2, 1, 1);
  const auto major = price_plan(plan, model, core::DType::f32, pricer);
  plan.placement = plan::Placement::stage_minor;
  const auto minor = price_plan(plan, model, core::DType::f32, pricer);
  for (size_t stage = 0; stage < 2; ++stage) {
    EXPECT_GT(minor.times[stage].sync, 2 * major.times[stage].sync) << "the replicas are on both nodes";
    EXPECT_EQ(minor.stages[stage].memory_bytes, major.stages[stage].memory_bytes);
  }
  EXPECT_LT(5 * minor.times[0].send_forward, major.times[0].send_forward) << "neighbours are on one node";
  EXPECT_LT(5 * minor.times[1].send_backward, major.times[1].send_backward);
}

double term_of(const std::vector<plan::Term>& terms, std::string_view name) {
  for (const auto& term : terms)
    if (term.name == name) return term.amount;
  return 0;
}

TEST(PlanPrice, TrainingDataAndAgreementsAreTermsOfTime) {
  auto profile = test::round_profile(2, 4);
  profile.model.loader_seconds_per_token = 1e-6;
  const spec::ClusterSpec cluster{2, 4, 0};
  const auto price = [&](const plan::Plan& plan) {
    LayerPricer pricer(profile, cluster, no_workspace);
    return price_plan(plan, model, core::DType::f32, pricer);
  };
  // Eight samples of 16 tokens, two micro-batches over two replicas: two samples each, twice.
  auto plan = plan_of(8, 4, 1, 0);
  plan.microbatches = 2;
  const auto piped = price(plan);
  const auto samples = 2.0 * 2;
  EXPECT_NEAR(term_of(piped.stages[0].time_terms, "data wait"), samples * 16e-6, 1e-12) << "tokens";
  EXPECT_EQ(term_of(piped.stages[1].time_terms, "data wait"), 0);
  EXPECT_NEAR(term_of(piped.stages[3].time_terms, "data wait"), samples * 16e-6, 1e-12) << "labels";
  const auto alone = price(plan_of(8, 1, 4, 0));
  EXPECT_NEAR(term_of(alone.stages[0].time_terms, "data wait"), 2 * 4 * 16e-6, 1e-12) << "both";
  // Two numbers and one: one doubling across nodes and two inside each time.
  const double doublings = 2 * (1e-5 + 2 * 1e-6) + (16 + 8) * (1e-8 + 2 * 1e-9);
  for (const auto& stage : piped.stages)
    EXPECT_NEAR(term_of(stage.time_terms, "agreement"), doublings, 1e-12) << "modelled";
  auto& curve = profile.hardware.collectives[{core::CollectiveKind::all_reduce, {8, 2, 4}}];
  curve.points = {{.x = 1024, .seconds = 3e-3}, {.x = 2048, .seconds = 4e-3}};
  const auto measured = price(plan);
  EXPECT_NEAR(term_of(measured.stages[2].time_terms, "agreement"), 2 * 3e-3, 1e-12) << "measured";
  const double bare = piped.step_seconds - doublings;
  EXPECT_GE(measured.step_seconds, bare + 6e-3 - 1e-12) << "nobody updates before all have agreed";
}

TEST(PlanPrice, CopiesForCheckpointsAreATermOfMemory) {
  auto profile = test::round_profile(1, 8);
  int64_t parameters = 0;
  for (const auto& layer : model.layers)
    for (const auto& p : program::parameters_of(layer))
      if (p.owner.empty()) parameters += p.rows * p.cols;
  for (const auto& [pp, tp] : {std::pair{1, 1}, {1, 4}, {2, 2}, {4, 1}})
    for (const int32_t zero : {0, 1, 3}) {
      if (zero > 1 && pp > 1) continue;
      const auto plan = plan_of(8, pp, tp, zero);
      LayerPricer pricer(profile, {1, 8, 0}, no_workspace, {true, true, true, true});
      const auto price = price_plan(plan, model, core::DType::f32, pricer);
      double all = 0;
      for (const auto& stage : price.stages) {
        all += term_of(stage.memory_terms, "copies") * static_cast<double>(plan.ranks_per_stage());
        EXPECT_DOUBLE_EQ(sum_of(stage.memory_terms), static_cast<double>(stage.memory_bytes));
        EXPECT_EQ(copy_bytes(stage), static_cast<int64_t>(term_of(stage.memory_terms, "copies")));
      }
      // Weights and two moments, once over all ranks; slices are rounded up.
      EXPECT_GE(all, 12.0 * static_cast<double>(parameters))
          << "pp " << pp << " tp " << tp << " zero " << zero;
      EXPECT_LE(all, 12.6 * static_cast<double>(parameters))
          << "pp " << pp << " tp " << tp << " zero " << zero;
    }
  // Where they do not fit, the plan is played without them.
  const auto plan = plan_of(8, 1, 1, 0);
  const auto within = [&](int64_t memory) {
    const auto price = price_plan(plan, model, core::DType::f32, profile, {1, 8, memory}, no_workspace,
                                  {true, true, true, true});
    return std::pair(price.memory_bytes(), copy_bytes(price.stages[0]));
  };
  const auto [bytes, copies] = within(0);
  EXPECT_GT(copies, 0);
  EXPECT_EQ(within(bytes), std::pair(bytes, copies));
  EXPECT_EQ(within(bytes - 1), std::pair(bytes - copies, int64_t{0}));
  profile.hardware.nominal = true;
  EXPECT_EQ(within(0), std::pair(bytes - copies, int64_t{0})) << "copies are not in a device's memory";
}

TEST(PlanPrice, ListsOfPiecesAreATermOfMemory) {
  const auto profile = test::round_profile(1, 8);
  for (const auto& [pp, tp] : {std::pair{1, 1}, {1, 4}, {2, 2}, {4, 1}})
    for (const int32_t zero : {0, 1}) {
      const auto plan = plan_of(8, pp, tp, zero);
      int64_t all = 0;
      std::vector<int64_t> own;
      for (int64_t rank = 0; rank < plan.world; ++rank) {
        own.push_back(0);
        for (const auto& layer : plan::lower_stage(plan, model, rank, core::DType::f32, no_workspace).layers)
          for (const auto& group : layer.program->groups) {
            const auto begin = group.replica_index * group.shard(), end = begin + group.shard();
            const auto runs = static_cast<int64_t>(program::runs_of(group, begin, end).size());
            if (group.stored_here()) own.back() += 3 * runs;
          }
        all += own.back();
      }
      LayerPricer pricer(profile, {1, 8, 0}, no_workspace, {true, true, true, false, true});
      const auto price = price_plan(plan, model, core::DType::f32, pricer);
      for (int64_t stage = 0; stage < pp; ++stage) {
        int64_t mine = 0;
        for (int64_t member = 0; member < plan.ranks_per_stage(); ++member)
          mine += own[static_cast<size_t>(plan.ranks().rank_at(stage, member))];
        const auto expected = 160.0 * static_cast<double>(all) +
                              56.0 * static_cast<double>(mine) / static_cast<double>(plan.ranks_per_stage());
        const auto lists = term_of(price.stages[static_cast<size_t>(stage)].memory_terms, "saving") -
                           static_cast<double>(saving_window_bytes);
        // Small tensors, so slices cut many of the few pieces.
        EXPECT_NEAR(lists / expected, 1, 0.15)
            << "pp " << pp << " tp " << tp << " zero " << zero << " stage " << stage;
      }
    }
}

TEST(PlanPrice, SavingTakesNoMoreForLargerTensors) {
  const auto profile = test::round_profile(1, 8);
  const auto saving_of = [&](int64_t layers, int64_t hidden) {
    auto large = test::small_model(layers, true, hidden);
    for (auto& layer : large.layers) {
      layer.dims.heads = layer.dims.kv_heads = 64;
      layer.dims.head_dim = hidden / 64;
    }
    plan::UniformPlan wish;
    wish.world = wish.tp = wish.batch = 8;
    LayerPricer pricer(profile, {1, 8, 0}, no_workspace, {true, true, true, false, true});
    const auto price = price_plan(plan::plan_by_hand(wish, large), large, core::DType::f32, pricer);
    return price.memory.front().saving_bytes;
  };
  EXPECT_EQ(saving_of(2, 8192), saving_of(2, 512)) << "rows of a tensor repeat";
  // 80 layers on 8 ranks: 16,384 rows of each layer are cut, three values of each are kept, so that lists of
  // rows would be 3 GB long.
  EXPECT_LT(saving_of(80, 8192), 16 << 20);
}

TEST(PlanPrice, TimeTermsAddUpToTheStagesBusyTime) {
  const auto profile = test::round_profile(1, 8);
  LayerPricer pricer(profile, {1, 8, 0}, no_workspace);
  const auto price = price_plan(plan_of(8, 2, 2, 1), model, core::DType::f32, pricer);
  for (size_t stage = 0; stage < 2; ++stage)
    EXPECT_NEAR(sum_of(price.stages[stage].time_terms), price.simulation.busy[stage], 1e-12) << stage;
  EXPECT_DOUBLE_EQ(price.modelled_share, 1) << "the profile measured no step";
  EXPECT_GE(price.step_seconds, price.simulation.busy[0]);
}

/// 4 ranks in one stage; the second mlp has another layout than its neighbours.
plan::Plan mixed_plan() {
  auto plan = plan_of(4, 1, 1, 0);
  plan.layers[4] = {.tp = 4};
  return plan;
}

double term_of(const plan::StagePrediction& stage, const std::string& name) {
  for (const auto& term : stage.time_terms)
    if (term.name == name) return term.amount;
  return 0;
}

TEST(PlanPrice, TransitionsAreATermOfTheirOwn) {
  const auto near = test::round_profile(1, 4), far = test::round_profile(2, 2);
  LayerPricer inside(near, {1, 4, 0}, no_workspace), across(far, {2, 2, 0}, no_workspace);
  const auto price = price_plan(mixed_plan(), model, core::DType::f32, inside),
             slower = price_plan(mixed_plan(), model, core::DType::f32, across),
             none = price_plan(plan_of(4, 1, 1, 0), model, core::DType::f32, inside);
  for (const auto* name : {"forward transition", "backward transition"}) {
    EXPECT_GT(term_of(price.stages[0], name), 0) << name;
    EXPECT_GT(term_of(slower.stages[0], name), term_of(price.stages[0], name)) << name << " across nodes";
    EXPECT_EQ(term_of(none.stages[0], name), 0) << name;
  }
  EXPECT_NEAR(sum_of(price.stages[0].time_terms), price.simulation.busy[0], 1e-12);
}

TEST(PlanPrice, SeveralStagesOnARankAreOnePrediction) {
  const auto profile = test::round_profile(1, 2);
  LayerPricer pricer(profile, {1, 2, 0}, no_workspace);
  plan::UniformPlan wish;
  wish.world = 2;
  wish.batch = 8;
  wish.pp = 2;
  wish.microbatches = 4;
  wish.schedule = plan::ScheduleKind::interleaved;
  wish.virtual_stages = 2;
  const auto plan = plan::plan_by_hand(wish, model);
  const auto price = price_plan(plan, model, core::DType::f32, pricer);
  ASSERT_EQ(price.stages.size(), 2u);
  ASSERT_EQ(price.times.size(), 4u);
  for (int64_t rank = 0; rank < 2; ++rank) {
    const auto i = static_cast<size_t>(rank);
    EXPECT_EQ(price.memory[i].total(),
              plan::lower_stage(plan, model, rank, core::DType::f32, no_workspace).arena.total());
    EXPECT_NEAR(price.stages[i].forward_seconds, price.times[i].forward + price.times[i + 2].forward, 1e-15);
    EXPECT_NEAR(sum_of(price.stages[i].time_terms), price.simulation.busy[i], 1e-12);
  }
}

TEST(PlanPrice, EqualLayersAreLoweredOnce) {
  const auto profile = test::round_profile(1, 8);
  LayerPricer pricer(profile, {1, 8, 0}, no_workspace);
  price_plan(plan_of(8, 1, 1, 0), model, core::DType::f32, pricer);
  EXPECT_EQ(pricer.lowered(), 8) << "embedding, attention, mlp, head: compute and parameter groups";
  price_plan(plan_of(8, 1, 1, 0), model, core::DType::f32, pricer);
  EXPECT_EQ(pricer.lowered(), 8);
  price_plan(plan_of(8, 1, 1, 1), model, core::DType::f32, pricer);
  EXPECT_EQ(pricer.lowered(), 12) << "another ZeRO level computes the same";
}

TEST(LayerPrice, MeasuredStepsAreTakenAsMeasured) {
  auto profile = test::round_profile(1, 1);
  program::LayerContext context;
  context.samples = 2;
  const auto mlp = program::lower(model.layers[2], context, no_workspace);
  for (const auto phase : {program::Phase::forward, program::Phase::backward, program::Phase::gradient_norm,
                           program::Phase::update})
    for (const auto& step : mlp.steps(phase)) {
      const auto signature = signature_of(mlp, step);
      profile.model.steps[signature.key].points = {{.x = signature.rows, .seconds = 1}};
    }
  CostModel cost(profile, {1, 1, 0});
  const auto price = cost.price(mlp, {});
  EXPECT_DOUBLE_EQ(price.seconds(program::Phase::forward),
                   static_cast<double>(mlp.steps(program::Phase::forward).size()));
  EXPECT_DOUBLE_EQ(price.modelled_seconds, 0);
  EXPECT_NEAR(std::accumulate(price.term_seconds.begin(), price.term_seconds.end(), 0.0),
              std::accumulate(price.phase_seconds.begin(), price.phase_seconds.end(), 0.0), 1e-9);
}

TEST(LayerPrice, UnmeasuredProductsTakeTheNearestEfficiency) {
  auto profile = test::round_profile(1, 1);
  profile.hardware.memory_bytes_per_second = {1e15};
  program::LayerContext context;
  const auto mlp = program::lower(model.layers[2], context, no_workspace);
  CostModel bare(profile, {1, 1, 0});
  const double at_peak = bare.price(mlp, {}).term_seconds[0];
  // A product of another width that reaches half the peak.
  profile.model.steps["gemm f32 n=64 k=64 nt"].points = {{.x = 16, .seconds = 2.0 * 16 * 64 * 64 / 0.5e9}};
  CostModel informed(profile, {1, 1, 0});
  const auto price = informed.price(mlp, {});
  EXPECT_NEAR(price.term_seconds[0], 2 * at_peak, 1e-9 * at_peak);
  EXPECT_GE(price.modelled_seconds, price.term_seconds[0]);
}

TEST(LayerPrice, MeetingsWaitForTheLastToCome) {
  auto profile = test::round_profile(1, 8);
  const auto price_of = [&](int32_t tp) {
    LayerPricer pricer(profile, {1, 8, 0}, no_workspace);
    program::LayerContext context;
    context.strategy.tp = tp;
    context.strategy.dp = 8 / tp;
    context.samples = 4;
    return pricer.price(model.layers[1], context, {});
  };
  const auto split_before = price_of(2), whole_before = price_of(1);
  // A twentieth of what is computed between two meetings, and a little each time.
  auto& curve = profile.hardware.lateness[{8, 1, 8}];
  curve.points = {{0, 1e-6, 0, 0, 0, 0, 5}, {1, 1e-6 + 0.05, 0, 0, 0, 0, 5}};
  const auto split = price_of(2), whole = price_of(1);
  const auto forward = static_cast<size_t>(program::Phase::forward);
  EXPECT_EQ(whole.phase_seconds[forward], whole_before.phase_seconds[forward]) << "it meets nobody";
  const double added = split.phase_seconds[forward] - split_before.phase_seconds[forward];
  const auto terms = time_terms();
  const auto of_talk = static_cast<size_t>(
      std::find_if(terms.begin(), terms.end(),
                   [](const auto& term) { return term.name == "forward tensor parallel"; }) -
      terms.begin());
  const double talk = split_before.term_seconds[of_talk];
  const double computed = split_before.phase_seconds[forward] - talk;
  // An all-gather before the products and a reduce-scatter behind them.
  EXPECT_NEAR(added, 2e-6 + 0.05 * computed, 1e-9 + 1e-6 * computed);
  EXPECT_NEAR(split.term_seconds[of_talk] - talk, added, 1e-12) << "a term that knows it";
}

TEST(LayerPrice, SlowLinksAcrossNodesCount) {
  const auto profile = test::round_profile(2, 2);
  program::LayerContext context;
  context.strategy.tp = 2;
  const auto mlp = program::lower(model.layers[2], context, no_workspace);
  CostModel cost(profile, {2, 2, 0});
  const auto aligned = cost.price(mlp, {.first_rank = 0}), astride = cost.price(mlp, {.first_rank = 1});
  EXPECT_LT(aligned.seconds(program::Phase::forward), astride.seconds(program::Phase::forward));
}

TEST(LayerPrice, ATableOnTwoStagesIsSummedOverBoth) {
  const auto profile = test::round_profile(2, 2);
  LayerPricer pricer(profile, {2, 2, 0}, no_workspace);
  const auto price = price_plan(plan_of(4, 2, 1, 0), model, core::DType::f32, pricer);
  for (const size_t stage : {size_t{0}, size_t{1}}) {
    bool found = false;
    for (const auto& term : price.stages[stage].time_terms)
      found |= term.name == "gradient sync" && term.amount > 1e-5;
    EXPECT_TRUE(found) << "stage " << stage << ": the sum over both holders crosses nodes";
  }
}

}  // namespace
}  // namespace galvatron::cost
