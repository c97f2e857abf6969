// Places are found first: stages that fill nodes alike share every Program and every price.
#include "search/task_prices.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <set>

#include "plan/lowering.hpp"
#include "program/memory.hpp"
#include "spec/token_layout.hpp"

namespace galvatron::search {
namespace {

using program::Phase;

/// A strategy of the layout; how sp and tp share its rows does not matter.
spec::LayerStrategy strategy_of(const LayoutClass& layout, int64_t ranks) {
  spec::LayerStrategy strategy;
  strategy.dp = layout.dp;
  strategy.cp = layout.cp;
  strategy.tp = static_cast<int32_t>(ranks / layout.dp / layout.cp);
  return strategy;
}

}  // namespace

TaskPrices::TaskPrices(const SearchContext& context, const Task& task) : context_(context), task_(task) {
  for (const LayoutClass& layout : task_.pool->layouts) {
    activation_.push_back(program::aligned(cost::activation_bytes(
        context_.model, strategy_of(layout, task_.pool->ranks), task_.samples(), context_.options.dtype)));
    plan::ArenaLayout arena;
    plan::account_boundary(arena, activation_.back());
    boundary_.push_back(arena.boundary_bytes);
  }
  price_messages();
  find_places();
  for (Place& place : places_) price(place);
}

void TaskPrices::find_places() {
  const auto ranks = task_.ranks();
  for (int64_t rank = 0; rank < task_.pool->stages; ++rank) {
    const int64_t first = context_.pricer.canonical(ranks.rank_at(rank, 0), ranks.members, ranks.stride());
    const auto same = [&](const Place& place) { return place.first_rank == first; };
    const auto found = std::find_if(places_.begin(), places_.end(), same);
    place_of_.push_back(static_cast<size_t>(found - places_.begin()));
    if (found == places_.end()) places_.push_back({first, {}, {}});
  }
}

void TaskPrices::price(Place& place) {
  for (int64_t kind = 0; kind < context_.kinds.size(); ++kind) {
    const auto& strategies = task_.pool->choices[static_cast<size_t>(kind)];
    auto& choices = place.choices.emplace_back();
    for (size_t i = 0; i < strategies.size(); ++i)
      if (strategies[i].dp <= task_.samples())
        choices.push_back(price_choice(place, kind, static_cast<int32_t>(i)));
  }
}

Ways& TaskPrices::ways(size_t place) {
  if (!places_[place].ways) make_ways(places_[place]);
  return *places_[place].ways;
}

void TaskPrices::make_ways(Place& place) {
  const auto allowed = [this](int32_t layout) {
    return task_.pool->layouts[static_cast<size_t>(layout)].dp <= task_.samples();
  };
  const cost::StagePlace where{place.first_rank, task_.ranks().stride(), 0};
  const auto floor = [&](int32_t from, int32_t to) -> Way {
    if (!allowed(from) || !allowed(to)) return {};
    return {task_.micros * nanoseconds(context_.pricer.floor_seconds(transition(from, to), where)), 0};
  };
  place.ways.emplace(layouts(), floor, [this, where](int32_t from, int32_t to) -> Way {
    const auto& price = context_.pricer.price(transition(from, to), where);
    int64_t most = 0;
    for (const auto& need : price.members) most = std::max(most, need.work_bytes);
    return {task_.micros *
                nanoseconds(price.slowest.seconds(Phase::forward) + price.slowest.seconds(Phase::backward)),
            most};
  });
}

program::TransitionContext TaskPrices::transition(int32_t from, int32_t to) const {
  const auto layout = [&](int32_t index) -> spec::TokenLayout {
    return {task_.samples(), context_.model.seq,
            strategy_of(task_.pool->layouts[static_cast<size_t>(index)], task_.pool->ranks)};
  };
  return {layout(from), layout(to), 0, context_.model.layers.front().dims.hidden, context_.options.dtype};
}

PricedChoice TaskPrices::price_choice(const Place& place, int64_t kind, int32_t choice) {
  const auto& spec = context_.kinds.specs[static_cast<size_t>(kind)];
  const auto& strategy = this->strategy(kind, choice);
  const auto layer = context_of(context_.model, spec, strategy, task_, context_.options.dtype);
  const auto ranks = task_.ranks();
  cost::StagePlace where{place.first_rank, ranks.stride(), 0};
  if (layer.tie == program::TieScope::across_stages) {
    // The holders of a tied table are on the first and the last rank, whichever rank asks for it.
    const int64_t distance = ranks.rank_at(ranks.stages - 1, 0);
    const bool first = spec.kind == "embedding";
    where = {first ? 0 : distance, ranks.stride(), first ? distance : -distance};
  }
  const auto& price = context_.pricer.price(spec, layer, where);
  PricedChoice priced;
  priced.choice = choice;
  priced.layout = task_.pool->layout_of[static_cast<size_t>(kind)][static_cast<size_t>(choice)];
  priced.time = task_.micros * nanoseconds(price.seconds(program::forward_phases) +
                                           price.seconds(program::backward_phases)) +
                nanoseconds(price.seconds(Phase::sync) + price.seconds(Phase::gradient_norm) +
                            price.seconds(Phase::update));
  priced.forward = nanoseconds(price.seconds(program::forward_phases));
  priced.backward = nanoseconds(price.seconds(program::backward_phases));
  priced.persistent = price.memory.persistent_bytes() + price.copy_bytes;
  priced.saved = price.memory.saved_bytes;
  priced.scratch[work] = price.memory.work_bytes;
  // Two layers take turns at two buffers; twice the largest is enough whichever layers meet.
  priced.scratch[gathered] = 2 * price.memory.gathered_bytes;
  priced.scratch[unreduced] = 2 * price.memory.unreduced_bytes;
  priced.scratch[flow] = activation_bytes(priced.layout);
  return priced;
}

std::vector<size_t> TaskPrices::places() const {
  std::vector<size_t> places;
  for (size_t place = 0; place < places_.size(); ++place) places.push_back(place);
  return places;
}

bool TaskPrices::allows(const TieLevel& level, int64_t kind, int32_t choice) const {
  const auto& spec = context_.kinds.specs[static_cast<size_t>(kind)];
  const bool tied = context_.model.tied() && (spec.kind == "embedding" || spec.kind == "head");
  return !tied || level.allows(strategy(kind, choice));
}

std::vector<Option> TaskPrices::options(size_t place, int64_t kind, int64_t slots,
                                        const TieLevel& level) const {
  std::vector<Option> options;
  for (const PricedChoice& priced : choices(place, kind))
    if (allows(level, kind, priced.choice))
      options.push_back({priced.layout, priced.choice, priced.time, priced.persistent + slots * priced.saved,
                         priced.scratch});
  keep_uncovered(options);
  return options;
}

std::vector<TieLevel> TaskPrices::levels() const {
  if (!context_.model.tied()) return {{}};
  const auto pairs_of = [&](int64_t kind) {
    std::set<std::pair<int32_t, int32_t>> pairs;
    for (const PricedChoice& priced : choices(0, kind)) {
      const auto& s = strategy(kind, priced.choice);
      // On two ranks of a pipeline a shared table has ZeRO level 0 or 1.
      if (task_.pool->stages == 1 || s.zero <= 1) pairs.emplace(s.tp, s.zero);
    }
    return pairs;
  };
  const auto first = pairs_of(context_.kinds.of_layer.front()),
             last = pairs_of(context_.kinds.of_layer.back());
  std::vector<TieLevel> levels;
  for (const auto& [tp, zero] : first)
    if (last.contains({tp, zero})) levels.push_back({tp, zero});
  return levels;
}

void TaskPrices::price_messages() {
  const int64_t ranks = task_.pool->stages;
  // By the first ranks' places on their nodes, and how far apart these are, boundaries are alike.
  std::map<std::array<int64_t, 3>, std::vector<int64_t>> known;
  const int64_t per_node = context_.pricer.model().cluster().ranks_per_node;
  for (int64_t from = 0; from < ranks; ++from) {
    const int64_t first = task_.ranks().rank_at(from, 0), next = task_.ranks().rank_at((from + 1) % ranks, 0);
    auto& times = known[{first % per_node, next % per_node, next / per_node - first / per_node}];
    if (times.empty())
      for (const int64_t bytes : activation_)
        times.push_back(ranks == 1 ? 0
                                   : task_.micros * nanoseconds(cost::boundary_seconds(
                                                        context_.pricer, from, (from + 1) % ranks,
                                                        task_.ranks(), bytes)));
    messages_.insert(messages_.end(), times.begin(), times.end());
  }
}

}  // namespace galvatron::search
