// Bounds from few Programs: without gradients' and parameters' traffic a layer's micro-batch depends on tp,
// sp, cp and the samples of a rank alone, whatever dp, ZeRO and recompute are.
#include <algorithm>
#include <cmath>

#include "plan/by_hand.hpp"
#include "search/task.hpp"

namespace galvatron::search {
namespace {

/// Nanoseconds of a micro-batch that a layer takes at least, and of its backward.
struct Micro {
  int64_t time = unreachable, backward = unreachable;

  void take(const Micro& other) {
    time = std::min(time, other.time);
    backward = std::min(backward, other.backward);
  }
};

Micro micro_time(const SearchContext& context, const Task& task, size_t kind,
                 const spec::LayerStrategy& strategy) {
  const auto& spec = context.kinds.specs[kind];
  auto layer = context_of(context.model, spec, strategy, task, context.options.dtype);
  layer.tie = program::TieScope::none;
  layer.strategy.dp = 1;
  layer.strategy.zero = 0;
  layer.strategy.recompute = spec::Recompute::none;
  const auto& price = context.pricer.price(spec, layer, {0, task.ranks().stride(), 0});
  const double backward = price.seconds(program::backward_phases);
  return {nanoseconds(price.seconds(program::forward_phases) + backward), nanoseconds(backward)};
}

/// Per kind: the least of all strategies of the task.
std::vector<Micro> least_of(const SearchContext& context, const Task& task) {
  std::vector<Micro> least(static_cast<size_t>(context.kinds.size()));
  for (size_t kind = 0; kind < least.size(); ++kind) {
    spec::LayerStrategy seen;
    seen.dp = 0;
    for (spec::LayerStrategy strategy : task.pool->choices[kind]) {
      strategy.zero = 0;
      strategy.recompute = spec::Recompute::none;
      if (strategy.dp > task.samples() || strategy == seen) continue;
      seen = strategy;
      least[kind].take(micro_time(context, task, kind, strategy));
    }
  }
  return least;
}

/// A rank that holds several stages works on all of them in every micro-batch; before its first one the
/// stages before it have done theirs, and after its last one they have theirs still to do.
double interleaved_bound(const SearchContext& context, const Task& task, const std::vector<double>& before) {
  const int64_t ranks = task.pool->stages;
  const auto stages = plan::even_stages(context.model, ranks * task.chunks);
  const auto time = [&](int64_t stage) {
    const auto& range = stages[static_cast<size_t>(stage)];
    return before[static_cast<size_t>(range.last + 1)] - before[static_cast<size_t>(range.first)];
  };
  double longest = 0, passed = 0;
  for (int64_t rank = 0; rank < ranks; ++rank) {
    double busy = 0;
    for (int64_t stage = rank; stage < ranks * task.chunks; stage += ranks) busy += time(stage);
    longest = std::max(longest, static_cast<double>(task.micros) * busy + passed);
    passed += time(rank);
  }
  return longest;
}

/// Before a stage's first backward a micro-batch has passed all stages, and all but k of its forwards are
/// still to come: v ≥ T + (m − 1) b_s + (m − k_s) f_s, the last two at least r_s t_s, r_s the least
/// m − k_s + (k_s − 1) b / t of any layer. As the stages' times add up to T, v ≥ T + T / Σ 1 / r_s.
double late_bound(const Task& task, double whole, double backward_share) {
  double sum = 0;
  for (const int64_t count : slots_of(task)) {
    const auto slots = static_cast<double>(count);
    const double rate = static_cast<double>(task.micros) - slots + (slots - 1) * backward_share;
    if (rate <= 0) return whole;
    sum += 1 / rate;
  }
  return whole + whole / sum;
}

/// A step lasts at least its stages' mean work. The first micro-batch also passes all stages before the last
/// one starts: the least v with t_s ≤ (v − Σ_{j<s} t_j) / m for all stages is T / (1 − (1 − 1/m)^P).
int64_t bound_of(const SearchContext& context, const Task& task, const std::vector<Micro>& least) {
  std::vector<double> before = {0};
  double backward_share = 1;
  for (const int64_t kind : context.kinds.of_layer) {
    const Micro& micro = least[static_cast<size_t>(kind)];
    if (micro.time == unreachable) return unreachable;
    before.push_back(before.back() + static_cast<double>(micro.time));
    if (micro.time > 0)
      backward_share =
          std::min(backward_share, static_cast<double>(micro.backward) / static_cast<double>(micro.time));
  }
  const auto stages = static_cast<double>(task.pool->stages), micros = static_cast<double>(task.micros);
  const double bound =
      task.chunks > 1
          ? interleaved_bound(context, task, before)
          : std::max({before.back() * micros / stages, before.back() / (1 - std::pow(1 - 1 / micros, stages)),
                      late_bound(task, before.back(), backward_share)});
  // Times were rounded layer by layer.
  const double rounding = static_cast<double>(context.model.size()) * (micros + 1);
  return std::max<int64_t>(0, static_cast<int64_t>(bound * (1 - 1e-12) - rounding));
}

}  // namespace

int64_t quick_bound(const SearchContext& context, const Task& task) {
  return bound_of(context, task, least_of(context, task));
}

int64_t quick_bound(const SearchContext& context, const Task& task, const spec::LayerStrategy& strategy) {
  std::vector<Micro> least;
  for (size_t kind = 0; kind < static_cast<size_t>(context.kinds.size()); ++kind)
    least.push_back(micro_time(context, task, kind, strategy));
  return bound_of(context, task, least);
}

}  // namespace galvatron::search
