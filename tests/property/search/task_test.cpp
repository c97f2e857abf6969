// Whole tasks against the full product of splits and strategies, on hundreds of random small instances with
// everything at once: layouts that change between layers, scratch, gradients and parameters once a step,
// messages, tied tables, several stages on a rank, placements. The value of a plan is written here anew, from
// the prices of its layers.
#include <gtest/gtest.h>

#include <functional>
#include <map>

#include "cost/plan_price.hpp"
#include "plan/by_hand.hpp"
#include "plan/flow.hpp"
#include "program/memory.hpp"
#include "search/tasks.hpp"
#include "spec/reshard.hpp"
#include "support/models.hpp"
#include "support/paths.hpp"

namespace galvatron::search {
namespace {

using program::Phase;

const program::NoWorkspace no_workspace;

/// A random model, machine and space.
struct World {
  spec::ModelSpec model;
  spec::ClusterSpec cluster;
  cost::Profile profile;
  SearchOptions options;

  explicit World(test::Dice& dice) {
    const std::pair<int64_t, int64_t> shapes[] = {{1, 1}, {1, 2}, {1, 3}, {1, 4}, {2, 1},
                                                  {2, 2}, {2, 3}, {4, 1}, {2, 4}, {1, 6}};
    const auto [nodes, per_node] = shapes[dice.below(10)];
    cluster = {nodes, per_node, 0};
    model = test::small_model(1 + dice.below(2), dice.below(2) == 0, dice.below(2) == 0 ? 16 : 48);
    auto& hardware = profile.hardware;
    hardware.nodes = nodes;
    hardware.ranks_per_node = per_node;
    hardware.ranks = cluster.ranks();
    hardware.gemm_flops = {1e8 * static_cast<double>(1 + dice.below(100))};
    hardware.memory_bytes_per_second = {1e8 * static_cast<double>(1 + dice.below(100))};
    const double near = 1e-7 * static_cast<double>(1 + dice.below(100)), far = near * (1 + dice.below(20));
    hardware.transfer_same_node.points = {{.x = 0, .seconds = near},
                                          {.x = 1e6, .seconds = near + 1e3 * near}};
    hardware.transfer_across.points = {{.x = 0, .seconds = far}, {.x = 1e6, .seconds = far + 1e3 * far}};
    hardware.reserve_bytes = dice.below(2) * 1000;
    options.batches = {2 + 2 * dice.below(3)};
    options.schedules = {plan::ScheduleKind::one_f_one_b, plan::ScheduleKind::interleaved,
                         plan::ScheduleKind::eager_one_f_one_b};
    options.zero = dice.below(2) == 0 ? std::vector<int32_t>{0, 3} : std::vector<int32_t>{1, 2};
    if (dice.below(2) == 0) options.recompute = {spec::Recompute::none};
    const spec::Axis axes[] = {spec::Axis::tp, spec::Axis::sp, spec::Axis::cp, spec::Axis::dp};
    options.axes = {axes[dice.below(3)], spec::Axis::dp};
    options.overlap = {dice.below(2) == 0, dice.below(2) == 0, dice.below(2) == 0};
  }
};

/// A world, its space and what prices it. Stays where it was made: its parts refer to each other.
class Ground {
 public:
  explicit Ground(test::Dice& dice) : world_(dice) {}
  Ground(const Ground&) = delete;
  Ground& operator=(const Ground&) = delete;

  std::vector<Task> tasks() {
    return make_tasks(space_, world_.model.size(), world_.cluster, world_.options);
  }

 private:
  const World world_;
  const Kinds kinds_{world_.model};
  cost::LayerPricer pricer_{world_.profile, world_.cluster, no_workspace, world_.options.overlap};
  Space space_ = make_space(world_.model, kinds_, world_.cluster, world_.options);

 public:
  const SearchContext context{world_.model,   kinds_,  world_.options,
                              world_.profile, pricer_, spec::fingerprint(world_.model)};
};

/// A layer under one strategy on one pipeline rank.
struct Entry {
  spec::LayerStrategy strategy;
  int64_t nanoseconds = 0;  ///< per step
  program::MemoryNeed need;
};

struct Move {
  int64_t nanoseconds = 0, work = 0;
};

/// What a pipeline rank sums up while its layers are walked.
struct RankSum {
  int64_t time = 0, bytes = 0, work = 0, gathered = 0, unreduced = 0, flow = 0, boundary = 0;
};

/// Values of all plans of a task.
class Oracle {
 public:
  Oracle(const SearchContext& context, const Task& task) : context_(context), task_(task) {
    base_ = empty_plan(context, task);
    lanes_ = plan::make_schedule(task.schedule, task.pipeline());
  }

  /// The least value of any plan within memory.
  int64_t best(int64_t memory) {
    memory_ = memory;
    best_ = unreachable;
    plan::Plan plan = base_;
    if (task_.chunks > 1) {
      plan.stages = plan::even_stages(context_.model, task_.pipeline().stages());
      choose(plan, 0);
    } else {
      cut(plan, 0);
    }
    return best_;
  }

  /// Nothing when a rank needs more, or a tied pair is split differently.
  std::optional<int64_t> value(const plan::Plan& plan, int64_t memory) {
    if (context_.model.tied()) {
      const auto &first = plan.layers.front(), &last = plan.layers.back();
      if (first.tp != last.tp || first.zero != last.zero) return std::nullopt;
      if (plan.stages.size() > 1 && first.zero > 1) return std::nullopt;
    }
    const auto stages = static_cast<int64_t>(plan.stages.size()), ranks = plan.pipeline_ranks();
    std::vector<RankSum> sums(static_cast<size_t>(ranks));
    for (int64_t stage = 0; stage < stages; ++stage)
      add(plan, stage, sums[static_cast<size_t>(stage % ranks)]);
    int64_t sum = 0, largest = 0;
    for (const RankSum& rank : sums) {
      const int64_t bytes = rank.bytes + rank.work + 2 * rank.gathered + 2 * rank.unreduced + rank.flow +
                            rank.boundary + context_.pricer.model().reserve_bytes();
      if (bytes > memory) return std::nullopt;
      const int64_t value = (rank.time + plan.microbatches - 1) / plan.microbatches;
      sum += value;
      largest = std::max(largest, value);
    }
    return sum + (task_.chunks * plan.microbatches - 1) * largest;
  }

 private:
  void add(const plan::Plan& plan, int64_t stage, RankSum& sum) {
    const auto ranks = plan.pipeline_ranks(), stages = static_cast<int64_t>(plan.stages.size());
    const int64_t slots =
        plan::in_flight(lanes_[static_cast<size_t>(stage % ranks)], static_cast<int32_t>(stage / ranks));
    int64_t items = 0, flow = 0;
    for (const auto& item : plan::flow_of(plan, stage)) {
      ++items;
      flow = std::max(flow, item.is_transition() ? 0 : activation(item.to));
      if (item.is_transition()) {
        const Move& move = move_of(plan, item, stage);
        sum.time += move.nanoseconds;
        sum.work = std::max(sum.work, move.work);
        continue;
      }
      const Entry& entry = entry_of(plan, item.layer, stage);
      sum.time += entry.nanoseconds;
      sum.bytes += entry.need.persistent_bytes() + slots * entry.need.saved_bytes;
      sum.work = std::max(sum.work, entry.need.work_bytes);
      sum.gathered = std::max(sum.gathered, entry.need.gathered_bytes);
      sum.unreduced = std::max(sum.unreduced, entry.need.unreduced_bytes);
    }
    // A rank with several stages is charged two activations whatever they hold.
    const int64_t flows = task_.chunks > 1 ? 2 : std::min<int64_t>(2, items - 1);
    sum.flow = std::max(sum.flow, flows * flow);
    const auto message = [&](int64_t from, const spec::LayerStrategy& strategy) {
      sum.boundary += 2 * activation(strategy);
      sum.time += plan.microbatches *
                  nanoseconds(cost::boundary_seconds(context_.pricer, from % ranks, (from + 1) % ranks,
                                                     plan.ranks(), bytes(strategy)));
    };
    if (stage > 0) message(stage - 1, plan::input_strategy(plan, stage));
    if (stage + 1 < stages) message(stage, plan::output_strategy(plan, stage));
  }

  int64_t bytes(const spec::LayerStrategy& strategy) const {
    return cost::activation_bytes(context_.model, strategy, task_.samples(), context_.options.dtype);
  }
  int64_t activation(const spec::LayerStrategy& strategy) const { return program::aligned(bytes(strategy)); }

  const Entry& entry_of(const plan::Plan& plan, int64_t layer, int64_t stage) {
    const auto& strategy = plan.layers[static_cast<size_t>(layer)];
    auto [found, fresh] = entries_.try_emplace({layer, stage % plan.pipeline_ranks(), strategy});
    if (!fresh) return found->second;
    auto context = plan::context_of(plan, context_.model, layer, plan.first_rank_of_stage(stage),
                                    context_.options.dtype);
    context.coordinate = {};
    // The holders of a tied table are on the first and the last rank, whichever rank is asked about.
    auto place = cost::place_of(plan, stage);
    if (context.tie == program::TieScope::across_stages)
      place = cost::place_of(plan, layer == 0 ? 0 : static_cast<int64_t>(plan.stages.size()) - 1);
    const auto& price =
        context_.pricer.price(context_.model.layers[static_cast<size_t>(layer)], context, place);
    const double micro = price.seconds(program::forward_phases) + price.seconds(program::backward_phases);
    const double step =
        price.seconds(Phase::sync) + price.seconds(Phase::gradient_norm) + price.seconds(Phase::update);
    found->second = {strategy, plan.microbatches * nanoseconds(micro) + nanoseconds(step), price.memory};
    return found->second;
  }

  const Move& move_of(const plan::Plan& plan, const plan::FlowItem& item, int64_t stage) {
    const auto key =
        std::tuple(item.from.dp, item.from.cp, item.to.dp, item.to.cp, stage % plan.pipeline_ranks());
    auto [found, fresh] = moves_.try_emplace(key);
    if (!fresh) return found->second;
    const auto& price =
        context_.pricer.price(plan::transition_context(plan, context_.model, item, 0, context_.options.dtype),
                              cost::place_of(plan, stage));
    found->second.nanoseconds = plan.microbatches * nanoseconds(price.slowest.seconds(Phase::forward) +
                                                                price.slowest.seconds(Phase::backward));
    for (const auto& need : price.members) found->second.work = std::max(found->second.work, need.work_bytes);
    return found->second;
  }

  void cut(plan::Plan& plan, int64_t first) {
    const int64_t last_layer = context_.model.size() - 1;
    if (static_cast<int64_t>(plan.stages.size()) + 1 == task_.pool->stages) {
      plan.stages.push_back({first, last_layer});
      choose(plan, 0);
      plan.stages.pop_back();
      return;
    }
    for (int64_t last = first; last < last_layer; ++last) {
      plan.stages.push_back({first, last});
      cut(plan, last + 1);
      plan.stages.pop_back();
    }
  }

  void choose(plan::Plan& plan, int64_t layer) {
    if (layer == context_.model.size()) {
      if (task_.chunks > 1 && !one_boundary(plan)) return;
      const auto found = value(plan, memory_);
      if (found) best_ = std::min(best_, *found);
      return;
    }
    const auto kind = static_cast<size_t>(context_.kinds.of_layer[static_cast<size_t>(layer)]);
    for (const auto& strategy : task_.pool->choices[kind]) {
      if (strategy.dp > task_.samples()) continue;
      plan.layers[static_cast<size_t>(layer)] = strategy;
      choose(plan, layer + 1);
    }
  }

  /// Several stages on a rank: all messages have one layout.
  static bool one_boundary(const plan::Plan& plan) {
    for (size_t stage = 1; stage + 1 < plan.stages.size(); ++stage)
      if (!spec::same_layout(plan::output_strategy(plan, static_cast<int64_t>(stage)),
                             plan::output_strategy(plan, 0)))
        return false;
    return true;
  }

  const SearchContext& context_;
  const Task& task_;
  plan::Plan base_;
  std::vector<plan::Lane> lanes_;
  std::map<std::tuple<int64_t, int64_t, spec::LayerStrategy>, Entry> entries_;
  std::map<std::tuple<int32_t, int32_t, int32_t, int32_t, int64_t>, Move> moves_;
  int64_t memory_ = 0, best_ = unreachable;
};

/// How many plans the full product has.
double plans_of(const SearchContext& context, const Task& task) {
  double count = 1;
  for (const int64_t kind : context.kinds.of_layer)
    count *= static_cast<double>(task.pool->choices[static_cast<size_t>(kind)].size());
  const auto layers = static_cast<double>(context.model.size());
  if (task.chunks == 1)
    for (int64_t s = 1; s < task.pool->stages; ++s)
      count *= (layers - static_cast<double>(s)) / static_cast<double>(s);
  return count;
}

/// What the instances were, so that none of the pieces is left out unseen.
struct Met {
  int64_t feasible = 0, infeasible = 0, pipelined = 0, interleaved = 0, mixed = 0, tied = 0, minor = 0;
};

void compare(const SearchContext& context, const Task& task, int64_t memory, Oracle& oracle, Met& met,
             const std::string& where) {
  TaskSolver solver(context, task, memory);
  const auto found = solver.solve();
  const int64_t best = oracle.best(memory);
  ASSERT_EQ(found.has_value(), best != unreachable) << where;
  ++(found ? met.feasible : met.infeasible);
  if (!found) return;
  const auto value = oracle.value(found->plan, memory);
  ASSERT_TRUE(value.has_value()) << where << ": the plan does not fit\n"
                                 << plan::to_toml(found->plan, context.model);
  ASSERT_EQ(*value, best) << where << "\n" << plan::to_toml(found->plan, context.model);
  EXPECT_TRUE(found->exact) << where;
  EXPECT_LE(found->memory_bytes, memory) << where;
  met.pipelined += task.pool->stages > 1 ? 1 : 0;
  met.interleaved += task.chunks > 1 ? 1 : 0;
  met.tied += context.model.tied() && task.pool->stages > 1 ? 1 : 0;
  met.minor += task.placement == plan::Placement::stage_minor ? 1 : 0;
  for (const auto& layer : found->plan.layers)
    if (!spec::same_layout(layer, found->plan.layers.front())) {
      ++met.mixed;
      break;
    }
}

TEST(TaskSolver, EqualsTheFullProduct) {
  constexpr double most_plans = 20'000;
  Met met;
  for (uint64_t round = 0; round < 260; ++round) {
    test::Dice dice(2'600'000 + round);
    Ground ground(dice);
    const auto& context = ground.context;
    auto tasks = ground.tasks();
    std::erase_if(tasks, [&](const Task& task) { return plans_of(context, task) > most_plans; });
    for (int i = 0; i < 2 && !tasks.empty(); ++i) {
      const Task task = tasks[static_cast<size_t>(dice.below(static_cast<int64_t>(tasks.size())))];
      Oracle oracle(context, task);
      const auto free = TaskSolver(context, task, 0).solve();
      if (!free) continue;
      const std::string where = "round " + std::to_string(round) + ", " + std::to_string(task.pool->stages) +
                                " stages × " + std::to_string(task.pool->ranks) + " ranks, " +
                                std::to_string(task.micros) + " micro-batches, chunks " +
                                std::to_string(task.chunks);
      for (const int64_t percent : {int64_t{200}, 70 + dice.below(30), 30 + dice.below(50)}) {
        compare(context, task, free->memory_bytes * percent / 100, oracle, met,
                where + ", " + std::to_string(percent) + " %");
        if (HasFatalFailure()) return;
      }
    }
  }
  EXPECT_GT(met.feasible, 300);
  EXPECT_GT(met.infeasible, 50);
  EXPECT_GT(met.pipelined, 100);
  EXPECT_GT(met.interleaved, 10);
  EXPECT_GT(met.mixed, 10);
  EXPECT_GT(met.tied, 30);
  EXPECT_GT(met.minor, 10);
}

/// The pool without about half of its strategies; never without all of a kind.
Pool poorer(const Pool& pool, test::Dice& dice) {
  Pool out = pool;
  for (size_t kind = 0; kind < pool.choices.size(); ++kind)
    for (size_t i = pool.choices[kind].size(); i-- > 0 && out.choices[kind].size() > 1;) {
      if (dice.below(2) == 0) continue;
      out.choices[kind].erase(out.choices[kind].begin() + static_cast<int64_t>(i));
      out.layout_of[kind].erase(out.layout_of[kind].begin() + static_cast<int64_t>(i));
    }
  return out;
}

TEST(TaskSolver, MoreMemoryAndMoreStrategiesAreNeverSlower) {
  int64_t compared = 0, gained = 0;
  for (uint64_t round = 0; round < 120; ++round) {
    test::Dice dice(5'200'000 + round);
    Ground ground(dice);
    const auto& context = ground.context;
    const auto tasks = ground.tasks();
    const Task task = tasks[static_cast<size_t>(dice.below(static_cast<int64_t>(tasks.size())))];
    const Pool pool = poorer(*task.pool, dice);
    Task fewer = task;
    fewer.pool = &pool;
    Oracle oracle(context, task);
    const auto value_of = [&](const Task& of, int64_t memory) {
      const auto found = TaskSolver(context, of, memory).solve();
      return found ? oracle.value(found->plan, memory).value_or(-1) : unreachable;
    };
    const auto free = TaskSolver(context, task, 0).solve();
    if (!free) continue;
    int64_t before = unreachable;
    for (int64_t percent = 30; percent <= 120; percent += 15) {
      const int64_t memory = free->memory_bytes * percent / 100;
      const int64_t value = value_of(task, memory);
      ASSERT_GE(value, 0) << "round " << round << ": the plan does not fit";
      EXPECT_LE(value, before) << "round " << round << ", " << percent << " % of the memory";
      EXPECT_LE(value, value_of(fewer, memory)) << "round " << round << ", " << percent << " %";
      gained += value < before && before != unreachable ? 1 : 0;
      before = value;
      ++compared;
    }
  }
  EXPECT_GT(compared, 300);
  EXPECT_GT(gained, 20) << "memory hardly mattered";
}

}  // namespace
}  // namespace galvatron::search
