// A rank's stages differ in their micro-batches in flight, so each has options of its own; scratch and budget
// are shared by all of them.
#include "search/interleaved.hpp"

#include <algorithm>

#include "plan/by_hand.hpp"
#include "search/split.hpp"

namespace galvatron::search {
namespace {

/// One tie level and one boundary layout.
class RankPaths {
 public:
  RankPaths(TaskPrices& prices, const TieLevel& tie, int64_t memory_bytes, PathCounts& counts)
      : prices_(prices),
        task_(prices.task()),
        tie_(tie),
        memory_bytes_(memory_bytes - prices.context().pricer.model().reserve_bytes()),
        counts_(counts),
        stages_(plan::even_stages(prices.context().model, task_.pipeline().stages())),
        lanes_(plan::make_schedule(task_.schedule, task_.pipeline())) {}

  struct Found {
    plan::Plan plan;
    int64_t value = 0;
  };

  /// The best plan whose messages have the layout and which is worth less than `limit`.
  std::optional<Found> best(int32_t layout, int64_t limit) {
    Found found{empty_plan(prices_.context(), task_), 0};
    found.plan.stages = stages_;
    int64_t sum = 0, largest = 0;
    for (int64_t rank = 0; rank < task_.pool->stages; ++rank) {
      const auto value = solve(rank, layout, found.plan);
      if (!value) return std::nullopt;
      sum += *value;
      largest = std::max(largest, *value);
      found.value = worth_of(sum, largest, task_.chunks * task_.micros);
      if (found.value >= limit) return std::nullopt;
    }
    return found;
  }

 private:
  const std::vector<Option>& options(size_t place, int64_t kind, int64_t slots) {
    const auto [found, fresh] = options_.try_emplace({static_cast<int64_t>(place), kind, slots});
    if (fresh) found->second = prices_.options(place, kind, slots, tie_);
    return found->second;
  }

  /// The rank's time per micro-batch, its picks put into the plan; nothing when it does not fit.
  std::optional<int64_t> solve(int64_t rank, int32_t layout, plan::Plan& plan) {
    const auto& lane = lanes_[static_cast<size_t>(rank)];
    const size_t place = prices_.place_of(rank);
    PathProblem problem;
    problem.budget = memory_bytes_;
    problem.enters = rank == 0 ? any_layout : layout;
    int64_t messages = 0;
    const auto stages = static_cast<int64_t>(stages_.size()), ranks = task_.pool->stages;
    for (int64_t stage = rank; stage < stages; stage += ranks) {
      const int64_t slots = plan::in_flight(lane, static_cast<int32_t>(stage / ranks));
      for (int64_t layer = stages_[static_cast<size_t>(stage)].first;
           layer <= stages_[static_cast<size_t>(stage)].last; ++layer)
        problem.layers.push_back({&options(place, kind_of(layer), slots), any_layout});
      if (stage + 1 < stages) problem.layers.back().leaves = layout;
      for (const int64_t from : {stage - 1, stage})
        if (from >= 0 && from + 1 < stages) {
          messages += prices_.message_time(from % ranks, layout);
          problem.budget -= prices_.boundary_bytes(layout);
        }
    }
    auto path = best_path(problem, prices_.ways(place), counts_);
    if (!path) return std::nullopt;
    size_t pick = 0;
    for (int64_t stage = rank; stage < stages; stage += ranks)
      for (int64_t layer = stages_[static_cast<size_t>(stage)].first;
           layer <= stages_[static_cast<size_t>(stage)].last; ++layer, ++pick)
        plan.layers[static_cast<size_t>(layer)] = prices_.strategy(
            kind_of(layer), (*problem.layers[pick].options)[static_cast<size_t>(path->picks[pick])].choice);
    return (path->time + messages + task_.micros - 1) / task_.micros;
  }

  int64_t kind_of(int64_t layer) const {
    return prices_.context().kinds.of_layer[static_cast<size_t>(layer)];
  }

  TaskPrices& prices_;
  const Task& task_;
  TieLevel tie_;
  int64_t memory_bytes_;
  PathCounts& counts_;
  std::vector<plan::StageLayers> stages_;
  std::vector<plan::Lane> lanes_;
  std::map<std::tuple<int64_t, int64_t, int64_t>, std::vector<Option>> options_;
};

}  // namespace

std::optional<plan::Plan> best_interleaved(TaskPrices& prices, int64_t memory_bytes, PathCounts& counts) {
  std::optional<RankPaths::Found> best;
  for (const TieLevel& tie : prices.levels()) {
    RankPaths paths(prices, tie, memory_bytes, counts);
    for (int32_t layout = 0; layout < prices.layouts(); ++layout) {
      auto found = paths.best(layout, best ? best->value : unreachable);
      if (found) best = std::move(found);
    }
  }
  if (!best) return std::nullopt;
  return std::move(best->plan);
}

}  // namespace galvatron::search
