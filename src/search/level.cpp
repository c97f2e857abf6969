// A first plan from an even split gives the limit; bounds of all stretches that can be within it follow; then
// the lazy split.
#include "search/level.hpp"

#include <algorithm>

#include "core/errors.hpp"

namespace galvatron::search {
namespace {

int64_t ceil_div(int64_t a, int64_t b) {
  return (a + b - 1) / b;
}

}  // namespace

Level::Level(TaskPrices& prices, const TieLevel& tie, int64_t memory_bytes, PathCounts& counts)
    : prices_(prices),
      kinds_(prices.context().kinds.of_layer),
      stages_(prices.task().pool->stages),
      micros_(prices.task().micros),
      memory_bytes_(memory_bytes - prices.context().pricer.model().reserve_bytes()),
      counts_(counts),
      stretches_(kinds_, static_cast<int64_t>(kinds_.size()) - stages_ + 1) {
  least_boundary_ = unreachable;
  for (int32_t layout = 0; layout < prices.layouts(); ++layout) {
    least_boundary_ = std::min(least_boundary_, prices.boundary_bytes(layout));
    most_boundary_ = std::max(most_boundary_, prices.boundary_bytes(layout));
  }
  make_tables(tie);
}

void Level::make_tables(const TieLevel& tie) {
  const auto counts = slots_of(prices_.task());
  fastest_.assign(static_cast<size_t>(prices_.context().kinds.size()), unreachable);
  for (int64_t stage = 0; stage < stages_; ++stage) {
    const size_t place = prices_.place_of(stage);
    const int64_t slots = counts[static_cast<size_t>(stage)];
    const auto found = std::find_if(tables_.begin(), tables_.end(), [&](const Table& table) {
      return table.place == place && table.slots == slots;
    });
    table_of_.push_back(static_cast<size_t>(found - tables_.begin()));
    if (found != tables_.end()) continue;
    Table table{place, slots, {}, nullptr, std::vector<char>(stretches_.all().size(), 0)};
    for (size_t kind = 0; kind < fastest_.size(); ++kind) {
      table.options.push_back(prices_.options(place, static_cast<int64_t>(kind), slots, tie));
      for (const Option& option : table.options.back())
        fastest_[kind] = std::min(fastest_[kind], option.time);
    }
    tables_.push_back(std::move(table));
  }
}

SplitProblem Level::split_problem() const {
  return {stages_, static_cast<int64_t>(kinds_.size()), micros_, prices_.layouts()};
}

int64_t Level::budget_of(const StageCase& one) const {
  const auto boundary = [&](int32_t layout) {
    return layout == any_layout ? most_boundary_ : prices_.boundary_bytes(layout);
  };
  int64_t budget = memory_bytes_;
  if (one.stage > 0) budget -= boundary(one.enters);
  if (one.stage + 1 < stages_) budget -= boundary(one.leaves);
  return budget;
}

/// Messages that the stage receives, in nanoseconds per step.
int64_t Level::fixed_time(const StageCase& one) const {
  int64_t time = 0;
  if (one.stage > 0) time += prices_.message_time(one.stage - 1, one.enters);
  if (one.stage + 1 < stages_) time += prices_.message_time(one.stage, one.leaves);
  return time;
}

/// u = t + ⌈g / m⌉ per micro-batch, from nanoseconds per step.
int64_t Level::value_of(const StageCase& one, int64_t time) const {
  return ceil_div(time + fixed_time(one), micros_);
}

/// What the stage's table of bounds has for these layers, per micro-batch.
template <typename Look>
int64_t Level::bounded(int64_t stage, int64_t first, int64_t last, Look look) const {
  const auto& bounds = *table_of(stage).bounds;
  if (last - first + 1 > bounds.longest()) return unreachable;
  const int64_t time = look(bounds, stretches_.of(first, last));
  return time == unreachable ? unreachable : ceil_div(time, micros_);
}

int64_t Level::least(int64_t stage, int64_t first, int64_t last) const {
  return bounded(stage, first, last,
                 [](const auto& bounds, int32_t stretch) { return bounds.least(stretch); });
}

int64_t Level::entering(int64_t stage, int64_t first, int64_t last, int32_t enters) const {
  return bounded(stage, first, last,
                 [&](const auto& bounds, int32_t stretch) { return bounds.entering(stretch, enters); });
}

int64_t Level::leaving(int64_t stage, int64_t first, int64_t last, int32_t leaves) const {
  return bounded(stage, first, last,
                 [&](const auto& bounds, int32_t stretch) { return bounds.leaving(stretch, leaves); });
}

int64_t Level::bound(const StageCase& one) const {
  const auto& bounds = *table_of(one.stage).bounds;
  if (one.last - one.first + 1 > bounds.longest()) return unreachable;
  const int32_t stretch = stretches_.of(one.first, one.last);
  // What is known of these layers elsewhere is known here.
  if (table_of(one.stage).solved[static_cast<size_t>(stretch)] != 0) {
    const auto found = paths_.find(key_of(one, budget_of(one)));
    if (found != paths_.end()) return found->second ? value_of(one, found->second->time) : unreachable;
  }
  int64_t time = one.leaves == any_layout ? bounds.least(stretch) : bounds.leaving(stretch, one.leaves);
  if (one.enters != any_layout) time = std::max(time, bounds.entering(stretch, one.enters));
  return time == unreachable ? unreachable : value_of(one, time);
}

int64_t Level::exact(const StageCase& one) {
  const auto& path = path_of(one);
  return path ? value_of(one, path->time) : unreachable;
}

Level::PathKey Level::key_of(const StageCase& one, int64_t budget) const {
  return {table_of_[static_cast<size_t>(one.stage)], stretches_.of(one.first, one.last), one.enters,
          one.leaves, budget};
}

const std::optional<Path>& Level::path_of(const StageCase& one) {
  const int64_t budget = budget_of(one);
  const PathKey key = key_of(one, budget);
  const auto [found, fresh] = paths_.try_emplace(key);
  tables_[key.table].solved[static_cast<size_t>(key.stretch)] = 1;
  if (fresh) {
    found->second = solve(one, budget);
    if (found->second) exact_ = exact_ && found->second->exact;
  }
  return found->second;
}

PathProblem Level::problem_of(const StageCase& one, int64_t budget) const {
  PathProblem problem;
  for (int64_t layer = one.first; layer <= one.last; ++layer)
    problem.layers.push_back(
        {&table_of(one.stage).options[static_cast<size_t>(kinds_[static_cast<size_t>(layer)])], any_layout});
  problem.layers.back().leaves = one.leaves;
  problem.enters = one.enters;
  problem.budget = budget;
  return problem;
}

/// Of one or two layers it matters whether there is a transition among them: it needs an activation more.
std::optional<Path> Level::solve(const StageCase& one, int64_t budget) {
  auto& ways = prices_.ways(table_of(one.stage).place);
  PathProblem problem = problem_of(one, budget);
  const auto layers = static_cast<int32_t>(problem.layers.size());
  problem.flows = std::min(layers, 2);
  auto best = best_path(problem, ways, counts_);
  if (layers > 2) return best;
  problem.flows = layers - 1;
  for (int32_t layout = 0; layout < ways.layouts(); ++layout) {
    const auto differs = [&](int32_t other) { return other != any_layout && other != layout; };
    if (differs(one.enters) || differs(one.leaves)) continue;
    for (PathLayer& layer : problem.layers) layer.leaves = layout;
    auto single = best_path(problem, ways, counts_, best ? best->time : unreachable);
    if (single) best = std::move(single);
  }
  return best;
}

/// The value of a split with each stage at its optimum for whatever the one before hands it.
int64_t Level::chain(const std::vector<plan::StageLayers>& stages) {
  int64_t sum = 0, largest = 0;
  StageCase one;
  for (size_t s = 0; s < stages.size(); ++s) {
    one = {static_cast<int64_t>(s), stages[s].first, stages[s].last, one.leaves, any_layout};
    if (s == 0) one.enters = any_layout;
    const auto& path = path_of(one);
    if (!path) return unreachable;
    const auto& options =
        table_of(one.stage).options[static_cast<size_t>(kinds_[static_cast<size_t>(one.last)])];
    one.leaves = options[static_cast<size_t>(path->picks.back())].layout;
    const int64_t value = value_of(one, path->time);
    sum += value;
    largest = std::max(largest, value);
  }
  return worth_of(sum, largest, micros_);
}

/// Time of the layers before each one, all at their fastest; at the end that of all layers.
std::vector<int64_t> Level::fastest_before() const {
  std::vector<int64_t> before = {0};
  for (const int64_t kind : kinds_) before.push_back(before.back() + fastest_[static_cast<size_t>(kind)]);
  return before;
}

bool Level::possible() const {
  return std::find(fastest_.begin(), fastest_.end(), unreachable) == fastest_.end();
}

/// The worth of a plan that is easy to find; unreachable when it does not fit.
int64_t Level::first_limit() {
  const auto before = fastest_before();
  const auto time = [&](int64_t, int64_t first, int64_t last) {
    return before[static_cast<size_t>(last + 1)] - before[static_cast<size_t>(first)];
  };
  return chain(flattest_split(split_problem(), time, Growth::monotone));
}

/// Stretches beyond so many layers make any split worth more than the limit.
int64_t Level::longest_within(int64_t limit) const {
  const auto layers = static_cast<int64_t>(kinds_.size());
  const int64_t most = layers - stages_ + 1;
  if (limit == unreachable) return most;
  const auto before = fastest_before();
  for (int64_t length = 1; length <= most; ++length) {
    int64_t least = unreachable;
    for (int64_t first = 0; first + length <= layers; ++first)
      least =
          std::min(least, before[static_cast<size_t>(first + length)] - before[static_cast<size_t>(first)]);
    if (before.back() / micros_ + (micros_ - 1) * (least / micros_) > limit) return length - 1;
  }
  return most;
}

std::optional<Split> Level::split(int64_t limit) {
  if (!possible()) return std::nullopt;
  limit = std::min(limit, first_limit());
  longest_ = longest_within(limit);
  for (Table& table : tables_) {
    const int64_t boundaries = std::min<int64_t>(stages_ - 1, 1) * least_boundary_;
    table.bounds = std::make_unique<StageBounds>(stretches_, table.options, prices_.ways(table.place),
                                                 memory_bytes_ - boundaries);
    table.bounds->fill(longest_);
  }
  return best_split(split_problem(), *this, limit);
}

void take(const Path& path, const std::vector<std::vector<Option>>& options, int64_t first, int64_t last,
          const TaskPrices& prices, plan::Plan& plan) {
  for (int64_t layer = first; layer <= last; ++layer) {
    const int64_t kind = prices.context().kinds.of_layer[static_cast<size_t>(layer)];
    const auto pick = static_cast<size_t>(path.picks[static_cast<size_t>(layer - first)]);
    plan.layers[static_cast<size_t>(layer)] =
        prices.strategy(kind, options[static_cast<size_t>(kind)][pick].choice);
  }
}

std::optional<plan::Plan> Level::plan(const Split& split) {
  plan::Plan plan = empty_plan(prices_.context(), prices_.task());
  plan.stages = split.stages;
  for (size_t s = 0; s < split.stages.size(); ++s) {
    const StageCase one = split.stage(s);
    const auto& path = path_of(one);
    if (!path) return std::nullopt;
    take(*path, table_of(one.stage).options, one.first, one.last, prices_, plan);
  }
  return plan;
}

/// A stage's least memory does not ask what comes in: the transition that it may need is charged afterwards,
/// when the plan is priced.
std::optional<plan::Plan> Level::smallest() {
  if (!possible()) return std::nullopt;
  std::map<std::pair<size_t, int32_t>, std::optional<Path>> known;
  const auto lightest = [&](int64_t stage, int64_t first, int64_t last) -> const Path& {
    const size_t table = table_of_[static_cast<size_t>(stage)];
    const auto [found, fresh] = known.try_emplace({table, stretches_.of(first, last)});
    if (fresh) {
      auto problem = problem_of({stage, first, last, any_layout, any_layout}, 0);
      found->second = lightest_path(problem, prices_.ways(tables_[table].place));
    }
    GALV_ASSERT(found->second.has_value(), stage, first, last);
    return *found->second;
  };
  plan::Plan plan = empty_plan(prices_.context(), prices_.task());
  const auto bytes = [&](int64_t stage, int64_t first, int64_t last) {
    return lightest(stage, first, last).bytes;
  };
  plan.stages = flattest_split(split_problem(), bytes, Growth::monotone);
  for (size_t s = 0; s < plan.stages.size(); ++s) {
    const auto [first, last] = plan.stages[s];
    take(lightest(static_cast<int64_t>(s), first, last), table_of(static_cast<int64_t>(s)).options, first,
         last, prices_, plan);
  }
  return plan;
}

}  // namespace galvatron::search
