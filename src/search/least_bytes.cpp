// What a task's parameters, gradients and moments take at least: known from few Programs, because neither
// micro-batches nor recomputation change it. Tells hopeless tasks without solving them.
#include <algorithm>
#include <map>

#include "cost/group_reserve.hpp"
#include "search/task.hpp"

namespace galvatron::search {
namespace {

/// Levels that shard more of the same are smaller, and recomputation changes nothing: one strategy stands for
/// those that differ in these alone.
std::vector<spec::LayerStrategy> smallest_forms(const std::vector<spec::LayerStrategy>& choices,
                                                int64_t samples) {
  std::map<std::tuple<int32_t, int32_t, int32_t, int32_t>, spec::LayerStrategy> forms;
  for (const auto& s : choices) {
    if (s.dp > samples) continue;
    auto& form = forms.try_emplace({s.tp, s.sp, s.cp, s.dp}, s).first->second;
    if (s.zero > form.zero) form = s;
  }
  std::vector<spec::LayerStrategy> out;
  for (const auto& [degrees, form] : forms) out.push_back(form);
  return out;
}

}  // namespace

int64_t held_bytes(const SearchContext& context, const Task& task, const spec::LayerSpec& spec,
                   const spec::LayerStrategy& strategy) {
  if (context.model.tied() && (spec.kind == "embedding" || spec.kind == "head")) return 0;
  // Parameters are the same for any number of samples: with one for each replica, tasks share Programs.
  Task one = task;
  one.batch = strategy.dp;
  one.micros = 1;
  const auto layer = context_of(context.model, spec, strategy, one, context.options.dtype);
  return context.pricer.memory(spec, layer).persistent_bytes();
}

int64_t least_bytes(const SearchContext& context, const Task& task) {
  std::vector<int64_t> least;
  for (size_t kind = 0; kind < context.kinds.specs.size(); ++kind) {
    least.push_back(unreachable);
    for (const auto& strategy : smallest_forms(task.pool->choices[kind], task.samples()))
      least.back() = std::min(least.back(), held_bytes(context, task, context.kinds.specs[kind], strategy));
  }
  int64_t sum = 0;
  for (const int64_t kind : context.kinds.of_layer) {
    if (least[static_cast<size_t>(kind)] == unreachable) return unreachable;
    sum += least[static_cast<size_t>(kind)];
  }
  // Layers are spread over the stages, so some rank holds at least its part.
  const auto& model = context.pricer.model();
  return sum / task.pool->stages + model.reserve_bytes() +
         cost::least_group_reserve(model.reserve_units(), task.pool->ranks);
}

}  // namespace galvatron::search
