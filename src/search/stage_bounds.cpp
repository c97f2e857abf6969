// For every level of scratch and every multiplier one sweep over all stretches; the bound is the best over
// multipliers and the worst over levels. Values are doubles, bounds are rounded down with room for their
// error.
#include "search/stage_bounds.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "search/hull.hpp"

namespace galvatron::search {
namespace {

constexpr double infinite = std::numeric_limits<double>::infinity();
/// More bounds than these cost more than they save.
constexpr size_t most_multipliers = 10, most_levels = 3;

int64_t alone(const Option& option) {
  return option.scratch[work] + option.scratch[gathered] + option.scratch[unreduced];
}

}  // namespace

StageBounds::StageBounds(const Stretches& stretches, const std::vector<std::vector<Option>>& options,
                         const Ways& ways, int64_t budget)
    : stretches_(stretches), options_(options), layouts_(ways.layouts()), budget_(budget) {
  for (int32_t from = 0; from < layouts_; ++from)
    for (int32_t to = 0; to < layouts_; ++to) ways_.push_back(static_cast<double>(ways.floor(from, to)));
  pick_multipliers();
  pick_levels();
}

/// Whether any options of as many layers as there may be fit.
bool StageBounds::is_roomy() const {
  double most = 0, scratch = 0;
  for (const auto& options : options_)
    for (const Option& option : options) {
      most = std::max(most, static_cast<double>(option.bytes));
      scratch = std::max(scratch, static_cast<double>(alone(option)));
    }
  const double layers = static_cast<double>(stretches_.all().back().length);
  return layers * most + scratch <= static_cast<double>(budget_);
}

/// Slopes of the lower hulls of the options, spread evenly over those that occur; time alone first. The best
/// multiplier of any stretch is such a slope, but for its ways.
void StageBounds::pick_multipliers() {
  multipliers_ = {{1, 0}};
  if (is_roomy()) return;
  std::vector<double> slopes;
  for (const auto& options : options_)
    for (int32_t layout = 0; layout < layouts_; ++layout) {
      std::vector<std::pair<double, double>> points;
      for (const Option& option : options)
        if (option.layout == layout)
          points.emplace_back(static_cast<double>(option.bytes), static_cast<double>(option.time));
      add_hull_slopes(std::move(points), slopes);
    }
  std::sort(slopes.begin(), slopes.end());
  slopes.erase(std::unique(slopes.begin(), slopes.end()), slopes.end());
  const size_t stride = std::max<size_t>(1, (slopes.size() + most_multipliers - 1) / most_multipliers);
  for (size_t i = stride / 2; i < slopes.size(); i += stride) multipliers_.push_back({1, slopes[i]});
}

void StageBounds::pick_levels() {
  std::vector<int64_t> sums;
  for (const auto& options : options_)
    for (const Option& option : options) sums.push_back(alone(option));
  std::sort(sums.begin(), sums.end());
  sums.erase(std::unique(sums.begin(), sums.end()), sums.end());
  if (is_roomy()) sums.resize(std::min<size_t>(sums.size(), 1));
  const size_t stride = std::max<size_t>(1, (sums.size() + most_levels - 1) / most_levels);
  for (size_t i = 0; i < sums.size(); i += stride) {
    if (!levels_.empty()) levels_.back().below = sums[i];
    levels_.push_back({sums[i], unreachable});
  }
}

/// Per kind and layout.
StageBounds::Values StageBounds::leasts(const Level& level, const Multiplier& multiplier) const {
  Values values(options_.size() * static_cast<size_t>(layouts_), infinite);
  for (size_t kind = 0; kind < options_.size(); ++kind)
    for (const Option& option : options_[kind]) {
      if (alone(option) >= level.below) continue;
      double& least = values[kind * static_cast<size_t>(layouts_) + static_cast<size_t>(option.layout)];
      least = std::min(least, multiplier.by_time * static_cast<double>(option.time) +
                                  multiplier.by_bytes * static_cast<double>(option.bytes));
    }
  return values;
}

/// forward: value of the stretch when its last layer has the layout. backward: when the layer before it has.
void StageBounds::sweep(const Level& level, const Multiplier& multiplier, size_t end) {
  const auto layouts = static_cast<size_t>(layouts_);
  const Values least = leasts(level, multiplier);
  Values ways = ways_;
  for (double& way : ways) way *= multiplier.by_time;
  Values ways_to(ways.size());
  for (size_t from = 0; from < layouts; ++from)
    for (size_t to = 0; to < layouts; ++to) ways_to[to * layouts + from] = ways[from * layouts + to];
  Values inner(layouts), arrive(layouts);
  for (size_t id = 0; id < end; ++id) {
    const auto& stretch = stretches_.all()[id];
    const double* first = &least[static_cast<size_t>(stretch.kind_first) * layouts];
    const double* last = &least[static_cast<size_t>(stretch.kind_last) * layouts];
    double* forward = &forward_[id * layouts];
    double* backward = &backward_[id * layouts];
    if (stretch.length == 1) {
      for (size_t c = 0; c < layouts; ++c) forward[c] = inner[c] = first[c];
    } else {
      const double* shorter = &forward_[static_cast<size_t>(stretch.without_last) * layouts];
      std::fill(arrive.begin(), arrive.end(), infinite);
      for (size_t before = 0; before < layouts; ++before)
        for (size_t c = 0; c < layouts; ++c)
          arrive[c] = std::min(arrive[c], shorter[before] + ways[before * layouts + c]);
      for (size_t c = 0; c < layouts; ++c) forward[c] = arrive[c] + last[c];
      const double* rest = &backward_[static_cast<size_t>(stretch.without_first) * layouts];
      for (size_t c = 0; c < layouts; ++c) inner[c] = first[c] + rest[c];
    }
    std::fill(backward, backward + layouts, infinite);
    for (size_t c = 0; c < layouts; ++c)
      for (size_t before = 0; before < layouts; ++before)
        backward[before] = std::min(backward[before], inner[c] + ways_to[c * layouts + before]);
  }
}

/// Turns values into bounds on time and keeps the better ones.
void StageBounds::take(const Level& level, const Multiplier& multiplier, size_t end) {
  const double room = static_cast<double>(budget_ - level.from);
  const auto bound = [&](double value) {
    if (multiplier.by_time == 0) return value > room ? infinite : 0.0;
    return value - multiplier.by_bytes * room - 1e-13 * (value + multiplier.by_bytes * std::abs(room));
  };
  for (size_t i = 0; i < end * static_cast<size_t>(layouts_); ++i) {
    best_leaving_[i] = std::max(best_leaving_[i], bound(forward_[i]));
    best_entering_[i] = std::max(best_entering_[i], bound(backward_[i]));
  }
}

void StageBounds::fill(int64_t longest) {
  longest_ = longest;
  size_t end = 0;
  while (end < stretches_.all().size() && stretches_.all()[end].length <= longest) ++end;
  const size_t values = end * static_cast<size_t>(layouts_);
  forward_.resize(values);
  backward_.resize(values);
  Values leaving(values, infinite), entering(values, infinite);
  auto multipliers = multipliers_;
  multipliers.push_back({0, 1});
  for (const Level& level : levels_) {
    best_leaving_.assign(values, 0.0);
    best_entering_.assign(values, 0.0);
    for (const Multiplier& multiplier : multipliers) {
      sweep(level, multiplier, end);
      take(level, multiplier, end);
    }
    for (size_t i = 0; i < values; ++i) {
      leaving[i] = std::min(leaving[i], best_leaving_[i]);
      entering[i] = std::min(entering[i], best_entering_[i]);
    }
  }
  const auto whole = [](double bound) {
    return bound == infinite ? unreachable
                             : std::max<int64_t>(0, static_cast<int64_t>(std::floor(bound)) - 1);
  };
  leaving_.resize(values);
  entering_.resize(values);
  least_.assign(end, unreachable);
  for (size_t i = 0; i < values; ++i) {
    leaving_[i] = whole(leaving[i]);
    entering_[i] = whole(entering[i]);
    int64_t& least = least_[i / static_cast<size_t>(layouts_)];
    least = std::min(least, leaving_[i]);
  }
}

}  // namespace galvatron::search
