// The multiplier of the bound is found by the intersection rule: two walks, one within the budget and one
// beyond it, name the next multiplier, until no walk lies below their line (Handler and Zang, Networks 10,
// 1980). Values are doubles with a guard.
#include "search/relaxation.hpp"

#include <algorithm>
#include <cmath>
#include <tuple>

#include "core/errors.hpp"

namespace galvatron::search {
namespace {

constexpr double infinite = std::numeric_limits<double>::infinity();
constexpr int most_multipliers = 40;

/// Where time counts for nothing, closed ways stay closed.
double weighted(double weight, double seconds) {
  return seconds == infinite ? infinite : weight * seconds;
}

}  // namespace

int64_t ScratchBox::charged() const {
  int64_t sum = 0;
  for (const int64_t bytes : floor) sum += bytes;
  return sum;
}

Relaxation::Relaxation(const PathProblem& problem, Ways& ways, const ScratchBox& box,
                       const std::vector<char>& dead, PathCounts& counts)
    : problem_(problem), ways_(ways), box_(box), counts_(counts), budget_(problem.budget - box.charged()) {
  collect(dead);
}

std::vector<Relaxation::Item> Relaxation::front_of(const std::vector<Option>& options, int32_t layout) const {
  std::vector<Item> items;
  for (size_t i = 0; i < options.size(); ++i) {
    const Option& option = options[i];
    if (option.layout != layout) continue;
    bool allowed = option.scratch[flow] * problem_.flows <= box_.cap[flow];
    for (const auto kind : {work, gathered, unreduced})
      allowed = allowed && option.scratch[kind] <= box_.cap[kind];
    if (allowed) items.push_back({option.bytes, option.time, static_cast<int32_t>(i)});
  }
  std::sort(items.begin(), items.end(), [](const Item& a, const Item& b) {
    return std::tie(a.bytes, a.time, a.pick) < std::tie(b.bytes, b.time, b.pick);
  });
  size_t kept = 0;
  for (const Item& item : items)
    if (kept == 0 || item.time < items[kept - 1].time) items[kept++] = item;
  items.resize(kept);
  return items;
}

void Relaxation::collect(const std::vector<char>& dead) {
  for (int32_t layout = 0; layout < ways_.layouts(); ++layout)
    if (dead[static_cast<size_t>(layout)] == 0) live_.push_back(layout);
  std::vector<const std::vector<Option>*> lists;
  for (const PathLayer& layer : problem_.layers) {
    const auto found = std::find(lists.begin(), lists.end(), layer.options);
    list_of_.push_back(static_cast<size_t>(found - lists.begin()));
    if (found != lists.end()) continue;
    lists.push_back(layer.options);
    bool any = false;
    for (const int32_t layout : live_) {
      fronts_.push_back(front_of(*layer.options, layout));
      any = any || !fronts_.back().empty();
    }
    possible_ = possible_ && any;
  }
  for (const int32_t from : live_)
    for (const int32_t to : live_) floors_.push_back(way_floor(from, to));
}

/// Nanoseconds; infinite for a way that is known to take more work than is allowed.
double Relaxation::way_floor(int32_t from, int32_t to) const {
  if (from == to) return 0;
  return ways_.known_work(from, to) > box_.cap[work] ? infinite : static_cast<double>(ways_.floor(from, to));
}

bool Relaxation::closed(size_t layer, size_t live) const {
  const int32_t leaves = problem_.layers[layer].leaves;
  return leaves != any_layout && leaves != live_[live];
}

std::vector<double> Relaxation::leasts(const Weights& weights) const {
  std::vector<double> values;
  for (const auto& front : fronts_) {
    double least = infinite;
    for (const Item& item : front) least = std::min(least, weights.of(item.time, item.bytes));
    values.push_back(least);
  }
  return values;
}

double Relaxation::entrance(size_t live, const Weights& weights) const {
  if (problem_.enters == any_layout || problem_.enters == live_[live]) return 0;
  return weighted(weights.by_time, way_floor(problem_.enters, live_[live]));
}

Relaxation::Sweep Relaxation::sweep(const Weights& weights) const {
  ++counts_.sweeps;
  const size_t layers = problem_.layers.size(), live = live_.size();
  Sweep sweep{weights, std::vector<double>(layers * live), std::vector<double>((layers + 1) * live, 0.0), 0};
  const auto least = leasts(weights);
  std::vector<double> ways = floors_;
  for (double& way : ways) way = weighted(weights.by_time, way);
  for (size_t layer = layers; layer-- > 0;) {
    double* inner = &sweep.inner[at(layer, 0)];
    for (size_t c = 0; c < live; ++c)
      inner[c] =
          closed(layer, c) ? infinite : least[list_of_[layer] * live + c] + sweep.rest[at(layer + 1, c)];
    for (size_t before = 0; before < live; ++before) {
      double best = infinite;
      for (size_t c = 0; c < live; ++c) best = std::min(best, inner[c] + ways[before * live + c]);
      sweep.rest[at(layer, before)] = best;
    }
  }
  sweep.total = infinite;
  for (size_t c = 0; c < live; ++c)
    sweep.total = std::min(sweep.total, sweep.inner[c] + entrance(c, weights));
  return sweep;
}

Walk Relaxation::walk(const Sweep& sweep) const {
  Walk walk;
  size_t before = 0;
  for (size_t layer = 0; layer < problem_.layers.size(); ++layer) {
    size_t next = 0;
    double best = infinite;
    const auto way = [&](size_t c) {
      return layer == 0 ? entrance(c, {1, 0}) : floors_[before * live_.size() + c];
    };
    for (size_t c = 0; c < live_.size(); ++c) {
      const double value = sweep.inner[at(layer, c)] + weighted(sweep.weights.by_time, way(c));
      if (value < best) {
        best = value;
        next = c;
      }
    }
    const auto& front = fronts_[list_of_[layer] * live_.size() + next];
    const auto item = std::min_element(front.begin(), front.end(), [&](const Item& a, const Item& b) {
      return sweep.weights.of(a.time, a.bytes) < sweep.weights.of(b.time, b.bytes);
    });
    walk.time += item->time + static_cast<int64_t>(way(next));
    walk.bytes += item->bytes;
    walk.picks.push_back(item->pick);
    before = next;
  }
  return walk;
}

std::optional<Walk> Relaxation::lightest() {
  if (!possible_) return std::nullopt;
  light_ = sweep({0, 1});
  if (light_.total == infinite) return std::nullopt;
  return walk(light_);
}

/// Sums of doubles may be off by this much.
double Relaxation::guard() const {
  return 1 + 1e-13 * (std::abs(tight_.total) + tight_.weights.by_bytes * static_cast<double>(budget_));
}

std::optional<double> Relaxation::bound() {
  auto light = lightest();
  if (!light || light->bytes > budget_) return std::nullopt;
  tight_ = sweep({1, 0});
  Walk fast = walk(tight_);
  if (fast.bytes <= budget_) {
    near_ = beyond_ = std::move(fast);
    return tight_.total - guard();
  }
  near_ = std::move(*light);
  double best = tight_.total;
  for (int i = 0; i < most_multipliers; ++i) {
    const double multiplier =
        static_cast<double>(near_.time - fast.time) / static_cast<double>(fast.bytes - near_.bytes);
    if (!(multiplier > 0)) break;
    Sweep next = sweep({1, multiplier});
    const double line = next.weights.of(fast.time, fast.bytes), value = next.total;
    Walk met = walk(next);
    const double bound = value - multiplier * static_cast<double>(budget_);
    if (bound > best) {
      best = bound;
      tight_ = std::move(next);
    }
    if (value >= line - 1e-12 * std::abs(line)) break;
    auto& side = met.bytes <= budget_ ? near_ : fast;
    if (met.bytes == side.bytes && met.time == side.time) break;
    side = std::move(met);
  }
  beyond_ = std::move(fast);
  return best - guard();
}

void Relaxation::mark_dead(int64_t limit, std::vector<char>& dead) const {
  if (limit == unreachable) return;
  const size_t live = live_.size();
  const auto least = leasts(tight_.weights);
  const double most =
      static_cast<double>(limit) + guard() + tight_.weights.by_bytes * static_cast<double>(budget_);
  std::vector<double> reach(live), next(live);
  std::vector<char> used(live, 0);
  for (size_t layer = 0; layer < problem_.layers.size(); ++layer) {
    for (size_t c = 0; c < live; ++c) {
      double arrive = layer == 0 ? entrance(c, tight_.weights) : infinite;
      for (size_t before = 0; layer > 0 && before < live; ++before)
        arrive = std::min(arrive, reach[before] + floors_[before * live + c]);
      next[c] = closed(layer, c) ? infinite : arrive + least[list_of_[layer] * live + c];
      if (next[c] + tight_.rest[at(layer + 1, c)] <= most) used[c] = 1;
    }
    reach = next;
  }
  for (size_t c = 0; c < live; ++c)
    if (used[c] == 0) dead[static_cast<size_t>(live_[c])] = 1;
}

}  // namespace galvatron::search
