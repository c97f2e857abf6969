// Stage optima on demand, each distinct (table, number of layers per kind) once; bounds from prefix sums.
#include "search/level.hpp"

#include <algorithm>

#include "core/errors.hpp"

namespace galvatron::search {
namespace {

/// More bounds than this cost more than they save.
constexpr size_t most_multipliers = 12;

int64_t ceil_div(Wide a, int64_t b) {
  return static_cast<int64_t>((a + b - 1) / b);
}

}  // namespace

TaskSolver::Level::Level(const SearchContext& context, const Task& task,
                         const std::vector<StageTable>& tables, int64_t memory_bytes, int32_t zero)
    : context_(context), task_(task), tables_(tables), memory_bytes_(memory_bytes), zero_(zero) {
  counts_.assign(static_cast<size_t>(context.kinds.size()), {0});
  for (const int64_t kind : context.kinds.of_layer)
    for (size_t k = 0; k < counts_.size(); ++k)
      counts_[k].push_back(counts_[k].back() + (static_cast<int64_t>(k) == kind ? 1 : 0));
  for (size_t stage = 0; stage < tables_.size(); ++stage) {
    const auto equal = [&](const StageTable& t) {
      return t.fixed_bytes == tables_[stage].fixed_bytes && t.choices == tables_[stage].choices;
    };
    same_as_.push_back(std::find_if(tables_.begin(), tables_.end(), equal) - tables_.begin());
  }
  allow_choices();
}

void TaskSolver::Level::allow_choices() {
  const Division& division = *task_.division;
  const Kinds& kinds = context_.kinds;
  const auto first = kinds.of_layer.front(), last = kinds.of_layer.back();
  for (int64_t kind = 0; kind < kinds.size(); ++kind) {
    const auto& strategies = division.choices[static_cast<size_t>(kind)];
    auto& allowed = allowed_.emplace_back();
    for (size_t i = 0; i < strategies.size(); ++i)
      if (zero_ == untied || (kind != first && kind != last) || strategies[i].zero == zero_)
        allowed.push_back(static_cast<int64_t>(i));
  }
}

int64_t TaskSolver::Level::count_of(int64_t kind, int64_t first, int64_t last) const {
  const auto& counts = counts_[static_cast<size_t>(kind)];
  return counts[static_cast<size_t>(last + 1)] - counts[static_cast<size_t>(first)];
}

std::vector<LayerGroup> TaskSolver::Level::groups_of(int64_t stage, int64_t first, int64_t last) const {
  std::vector<LayerGroup> groups;
  for (int64_t kind = 0; kind < context_.kinds.size(); ++kind) {
    const auto k = static_cast<size_t>(kind);
    LayerGroup group;
    group.count = count_of(kind, first, last);
    for (const int64_t i : allowed_[k])
      group.choices.push_back(tables_[static_cast<size_t>(stage)].choices[k][static_cast<size_t>(i)]);
    groups.push_back(std::move(group));
  }
  return groups;
}

const std::optional<StageOptimum>& TaskSolver::Level::optimum(int64_t stage, int64_t first, int64_t last) {
  std::vector<int64_t> counts;
  for (int64_t kind = 0; kind < context_.kinds.size(); ++kind) counts.push_back(count_of(kind, first, last));
  const auto [found, fresh] = optima_.try_emplace({same_as_[static_cast<size_t>(stage)], std::move(counts)});
  if (fresh) {
    found->second = solve_stage(groups_of(stage, first, last), budget_of(stage, last - first + 1));
    if (found->second) exact_ = exact_ && found->second->exact;
  }
  return found->second;
}

int64_t TaskSolver::Level::budget_of(int64_t stage, int64_t layers) const {
  return memory_bytes_ - tables_[static_cast<size_t>(stage)].fixed_bytes[static_cast<size_t>(layers)];
}

/// u = t + ⌈g / m⌉ per micro-batch, from nanoseconds per step.
int64_t TaskSolver::Level::value_of(int64_t stage, int64_t time) const {
  return ceil_div(Wide{time} + tables_[static_cast<size_t>(stage)].fixed_time, task_.micros);
}

/// Slopes of the choices' trade of time for bytes, spread evenly over those that occur.
void TaskSolver::Level::pick_multipliers() {
  std::vector<Multiplier> all;
  for (size_t k = 0; k < allowed_.size(); ++k)
    for (const int64_t a : allowed_[k])
      for (const int64_t b : allowed_[k]) {
        const Choice &x = tables_.front().choices[k][static_cast<size_t>(a)],
                     &y = tables_.front().choices[k][static_cast<size_t>(b)];
        if (x.bytes > y.bytes && x.time < y.time) all.push_back({y.time - x.time, x.bytes - y.bytes});
      }
  std::sort(all.begin(), all.end(), [](const Multiplier& a, const Multiplier& b) {
    return Wide{a.cost} * b.saved < Wide{b.cost} * a.saved;
  });
  const size_t stride = std::max<size_t>(1, (all.size() + most_multipliers - 1) / most_multipliers);
  for (size_t i = 0; i < all.size(); i += stride) multipliers_.push_back(all[i]);
}

void TaskSolver::Level::sum_prefixes() {
  const auto least = [&](size_t stage, size_t kind, const auto& measure) {
    auto best = measure(tables_[stage].choices[kind][static_cast<size_t>(allowed_[kind].front())]);
    for (const int64_t i : allowed_[kind])
      best = std::min(best, measure(tables_[stage].choices[kind][static_cast<size_t>(i)]));
    return best;
  };
  for (size_t stage = 0; stage < tables_.size(); ++stage) {
    Prefixes sums{{0}, {0}, std::vector<std::vector<Wide>>(multipliers_.size(), {0})};
    for (const int64_t layer_kind : context_.kinds.of_layer) {
      const auto kind = static_cast<size_t>(layer_kind);
      sums.time.push_back(sums.time.back() + least(stage, kind, [](const Choice& c) { return c.time; }));
      sums.bytes.push_back(sums.bytes.back() + least(stage, kind, [](const Choice& c) { return c.bytes; }));
      for (size_t l = 0; l < multipliers_.size(); ++l)
        sums.value[l].push_back(sums.value[l].back() + least(stage, kind, [&](const Choice& c) {
                                  return Wide{c.time} * multipliers_[l].saved +
                                         Wide{c.bytes} * multipliers_[l].cost;
                                }));
    }
    prefixes_.push_back(std::move(sums));
  }
}

int64_t TaskSolver::Level::least_work(int64_t stage, int64_t first, int64_t last) const {
  int64_t most = 0;
  for (size_t k = 0; k < allowed_.size(); ++k) {
    if (count_of(static_cast<int64_t>(k), first, last) == 0) continue;
    int64_t least = unreachable;
    for (const int64_t i : allowed_[k])
      least = std::min(least, tables_[static_cast<size_t>(stage)].choices[k][static_cast<size_t>(i)].work);
    most = std::max(most, least);
  }
  return most;
}

int64_t TaskSolver::Level::bound(int64_t stage, int64_t first, int64_t last) const {
  const auto& sums = prefixes_[static_cast<size_t>(stage)];
  const auto begin = static_cast<size_t>(first), end = static_cast<size_t>(last + 1);
  const int64_t budget = budget_of(stage, last - first + 1) - least_work(stage, first, last);
  if (sums.bytes[end] - sums.bytes[begin] > budget) return unreachable;
  int64_t time = sums.time[end] - sums.time[begin];
  for (size_t l = 0; l < multipliers_.size(); ++l) {
    const Wide value = sums.value[l][end] - sums.value[l][begin] - Wide{multipliers_[l].cost} * budget;
    if (value > 0) time = std::max(time, ceil_div(value, multipliers_[l].saved));
  }
  return value_of(stage, time);
}

std::optional<Split> TaskSolver::Level::split() {
  for (const auto& allowed : allowed_)
    if (allowed.empty()) return std::nullopt;
  if (prefixes_.empty()) {
    pick_multipliers();
    sum_prefixes();
  }
  const SplitProblem problem{task_.division->stages, context_.model.size(), task_.micros};
  return best_split(
      problem, [&](int64_t stage, int64_t first, int64_t last) { return bound(stage, first, last); },
      [&](int64_t stage, int64_t first, int64_t last) {
        const auto& best = optimum(stage, first, last);
        return best ? value_of(stage, best->time) : unreachable;
      });
}

plan::Plan TaskSolver::Level::empty_plan() const {
  plan::Plan plan;
  plan.world = task_.division->stages * task_.division->degrees.ranks();
  plan.batch = task_.batch;
  plan.microbatches = task_.micros;
  plan.schedule = task_.schedule;
  plan.layers.resize(static_cast<size_t>(context_.model.size()));
  plan.model_fingerprint = context_.fingerprint;
  return plan;
}

/// Layers of a kind take their picks in the order of the choices: few, long runs of equal layers.
void TaskSolver::Level::take(const StageOptimum& optimum, plan::StageLayers range, plan::Plan& plan) const {
  plan.stages.push_back(range);
  auto picks = optimum.picks;
  for (int64_t layer = range.first; layer <= range.last; ++layer) {
    const auto kind = static_cast<size_t>(context_.kinds.of_layer[static_cast<size_t>(layer)]);
    const auto pick =
        std::find_if(picks[kind].begin(), picks[kind].end(), [](const Pick& p) { return p.count > 0; });
    GALV_ASSERT(pick != picks[kind].end(), layer);
    --pick->count;
    const auto choice = allowed_[kind][static_cast<size_t>(pick->choice)];
    plan.layers[static_cast<size_t>(layer)] = task_.division->choices[kind][static_cast<size_t>(choice)];
  }
}

std::optional<plan::Plan> TaskSolver::Level::plan(const std::vector<plan::StageLayers>& stages) {
  plan::Plan plan = empty_plan();
  for (size_t s = 0; s < stages.size(); ++s) {
    const auto& best = optimum(static_cast<int64_t>(s), stages[s].first, stages[s].last);
    if (!best) return std::nullopt;
    take(*best, stages[s], plan);
  }
  return plan;
}

plan::Plan TaskSolver::Level::smallest() {
  std::map<std::pair<int64_t, std::vector<int64_t>>, StageOptimum> known;
  const auto least = [&](int64_t stage, int64_t first, int64_t last) -> const StageOptimum& {
    std::vector<int64_t> counts;
    for (int64_t kind = 0; kind < context_.kinds.size(); ++kind)
      counts.push_back(count_of(kind, first, last));
    const auto [found, fresh] = known.try_emplace({same_as_[static_cast<size_t>(stage)], std::move(counts)});
    if (fresh) found->second = least_memory(groups_of(stage, first, last));
    return found->second;
  };
  const SplitProblem problem{task_.division->stages, context_.model.size(), task_.micros};
  const Split split = flattest_split(problem, [&](int64_t stage, int64_t first, int64_t last) {
    return least(stage, first, last).bytes + memory_bytes_ - budget_of(stage, last - first + 1);
  });
  plan::Plan plan = empty_plan();
  for (size_t s = 0; s < split.stages.size(); ++s)
    take(least(static_cast<int64_t>(s), split.stages[s].first, split.stages[s].last), split.stages[s], plan);
  return plan;
}

}  // namespace galvatron::search
