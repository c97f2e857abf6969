// Two bounds on each stage, of which the larger one counts. Before its first forward the stages before it
// have done one: m · t + g + Σ_{j<s} f. Before its first backward a micro-batch has been forwards through all
// stages and back through the later ones, and all but k of its forwards are still to come:
// m · t + g − k · f + Σ f + Σ_{j>s} b. Memory comes in by multipliers of bytes, scratch by levels.
#include "search/price_bound.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "search/hull.hpp"
#include "search/split.hpp"

namespace galvatron::search {
namespace {

constexpr double infinite = std::numeric_limits<double>::infinity();
constexpr size_t most_multipliers = 16, most_levels = 24;
/// Stages share a table as long as their micro-batches in flight differ by less than this.
constexpr double like = 1.15;

/// So many of the values, evenly spread; all when there are no more. Ascending.
std::vector<double> spread(std::vector<double> values, size_t most) {
  std::sort(values.begin(), values.end());
  values.erase(std::unique(values.begin(), values.end()), values.end());
  if (values.size() <= most) return values;
  std::vector<double> some;
  for (size_t i = 0; i < most; ++i) some.push_back(values[i * values.size() / most]);
  return some;
}

}  // namespace

PriceBound::PriceBound(const TaskPrices& prices, const TieLevel& tie, int64_t memory_bytes)
    : prices_(prices),
      kinds_of_(prices.context().kinds.of_layer),
      stages_(prices.task().pool->stages),
      micros_(prices.task().micros),
      budget_(static_cast<double>(memory_bytes)),
      stretches_({}, 0) {
  possible_ = collect(tie);
  if (!possible_) return;
  pick_stretches();
  int64_t boundary = unreachable;
  for (int32_t layout = 0; layout < prices.layouts(); ++layout)
    boundary = std::min(boundary, prices.boundary_bytes(layout));
  if (stages_ > 1) budget_ -= static_cast<double>(boundary);
  pick_multipliers();
  pick_levels();
  make_tables();
}

/// Choices of all places together: a bound for any is a bound for each.
bool PriceBound::collect(const TieLevel& tie) {
  for (int64_t kind = 0; kind < prices_.context().kinds.size(); ++kind) {
    Kind one{{}, infinite, infinite};
    for (const size_t place : prices_.places())
      for (const PricedChoice& choice : prices_.choices(place, kind)) {
        if (!prices_.allows(tie, kind, choice.choice)) continue;
        const auto& scratch = choice.scratch;
        const double alone = static_cast<double>(scratch[work] + scratch[gathered] + scratch[unreduced]);
        one.items.push_back({alone, static_cast<double>(choice.persistent), static_cast<double>(choice.saved),
                             static_cast<double>(choice.time), static_cast<double>(choice.forward),
                             static_cast<double>(micros_ * (choice.forward + choice.backward))});
        one.forward = std::min(one.forward, static_cast<double>(choice.forward));
        one.backward = std::min(one.backward, static_cast<double>(choice.backward));
      }
    if (one.items.empty()) return false;
    keep_better(one.items);
    kinds_.push_back(std::move(one));
  }
  return true;
}

/// Leaves out items that another one is no worse than in whatever is asked of them: bytes, and every time
/// with any number of forwards less, up to all of them. By what they take alone.
void PriceBound::keep_better(std::vector<Item>& items) const {
  const auto m = static_cast<double>(micros_);
  const auto numbers = [m](const Item& i) {
    return std::array{
        i.alone, i.persistent, i.saved, i.time, i.time - m * i.forward, i.micros, i.micros - m * i.forward};
  };
  std::sort(items.begin(), items.end(),
            [&](const Item& a, const Item& b) { return numbers(a) < numbers(b); });
  size_t kept = 0;
  for (const Item& item : items) {
    const auto mine = numbers(item);
    const bool covered =
        std::any_of(items.begin(), items.begin() + static_cast<std::ptrdiff_t>(kept), [&](const Item& other) {
          const auto its = numbers(other);
          for (size_t i = 0; i < its.size(); ++i)
            if (its[i] > mine[i]) return false;
          return true;
        });
    if (!covered) items[kept++] = item;
  }
  items.resize(kept);
}

/// Much longer stages than in the flattest split are only made where memory asks for them.
void PriceBound::pick_stretches() {
  constexpr int64_t longer = 2;
  std::vector<double> least;
  for (const Kind& kind : kinds_) {
    least.push_back(infinite);
    for (const Item& item : kind.items) least.back() = std::min(least.back(), item.time);
  }
  fastest_ = {0};
  for (const int64_t kind : kinds_of_) fastest_.push_back(fastest_.back() + least[static_cast<size_t>(kind)]);
  const auto layers = static_cast<int64_t>(kinds_of_.size());
  const auto time = [&](int64_t, int64_t first, int64_t last) {
    return static_cast<int64_t>(fastest_[static_cast<size_t>(last + 1)] -
                                fastest_[static_cast<size_t>(first)]);
  };
  int64_t longest = 0;
  const SplitProblem problem{stages_, layers, micros_, prices_.layouts()};
  for (const auto& stage : flattest_split(problem, time, Growth::monotone))
    longest = std::max(longest, stage.size());
  longest_ = std::min(layers - stages_ + 1, longer * (longest + 1));
  stretches_ = Stretches(kinds_of_, longest_);
}

/// Slopes of the lower hulls of time over bytes, at the fewest and at the most micro-batches in flight.
void PriceBound::pick_multipliers() {
  const auto counts = slots_of(prices_.task());
  std::vector<double> slopes;
  for (const int64_t slots : {counts.front(), counts.back()})
    for (const Kind& kind : kinds_) {
      std::vector<std::pair<double, double>> points;
      for (const Item& item : kind.items)
        points.emplace_back(item.persistent + static_cast<double>(slots) * item.saved, item.time);
      add_hull_slopes(std::move(points), slopes);
    }
  multipliers_ = spread(std::move(slopes), most_multipliers);
  multipliers_.push_back(0);
}

void PriceBound::pick_levels() {
  std::vector<double> sums;
  for (const Kind& kind : kinds_)
    for (const Item& item : kind.items) sums.push_back(item.alone);
  levels_ = spread(std::move(sums), most_levels);
}

void PriceBound::make_tables() {
  const auto counts = slots_of(prices_.task());
  std::vector<int64_t> sorted = counts;
  std::sort(sorted.begin(), sorted.end());
  for (const int64_t count : sorted) {
    if (tables_.empty() || static_cast<double>(count) >= like * static_cast<double>(tables_.back().fewest))
      tables_.push_back({count, count, {}, {}, {}});
    tables_.back().most = count;
  }
  for (const int64_t count : counts)
    table_of_.push_back(static_cast<size_t>(
        std::find_if(tables_.begin(), tables_.end(), [&](const Table& t) { return count <= t.most; }) -
        tables_.begin()));
  for (Table& table : tables_) fill(table);
}

/// The best over multipliers of the worst over levels would be less than the other way round: every level has
/// its own best multiplier.
void PriceBound::fill(Table& table) const {
  const size_t stretches = stretches_.all().size();
  const std::pair<Work, std::vector<double>*> works[] = {
      {Work::whole, &table.whole}, {Work::late, &table.late}, {Work::drained, &table.drained}};
  for (const auto& [work, values] : works) {
    std::vector<double> best(stretches * levels_.size(), 0.0);
    for (const double multiplier : multipliers_) fill(table, multiplier, work, best);
    fill(table, infinite, work, best);
    values->assign(stretches, infinite);
    for (size_t id = 0; id < stretches; ++id)
      for (size_t level = 0; level < levels_.size(); ++level)
        (*values)[id] = std::min((*values)[id], best[id * levels_.size() + level]);
  }
}

/// An infinite multiplier looks at bytes alone.
void PriceBound::fill(const Table& table, double multiplier, Work work, std::vector<double>& best) const {
  const size_t levels = levels_.size(), kinds = kinds_.size();
  const bool bytes_alone = multiplier == infinite;
  std::vector<double> least(kinds * levels, infinite);
  for (size_t kind = 0; kind < kinds; ++kind) {
    size_t level = 0;
    double so_far = infinite;
    for (const Item& item : kinds_[kind].items) {
      while (level + 1 < levels && item.alone >= levels_[level + 1]) least[kind * levels + level++] = so_far;
      const double bytes = item.persistent + static_cast<double>(table.fewest) * item.saved;
      const double time = (work == Work::drained ? item.micros : item.time) -
                          (work == Work::whole ? 0 : static_cast<double>(table.most) * item.forward);
      so_far = std::min(so_far, bytes_alone ? bytes : time + multiplier * bytes);
    }
    while (level < levels) least[kind * levels + level++] = so_far;
  }
  std::vector<double> sums(stretches_.all().size() * levels), room;
  for (const double level : levels_) room.push_back(budget_ - level);
  for (size_t id = 0; id < stretches_.all().size(); ++id) {
    const auto& stretch = stretches_.all()[id];
    const double* last = &least[static_cast<size_t>(stretch.kind_last) * levels];
    double* sum = &sums[id * levels];
    double* bound = &best[id * levels];
    std::copy_n(last, levels, sum);
    if (stretch.length > 1) {
      const double* before = &sums[static_cast<size_t>(stretch.without_last) * levels];
      for (size_t level = 0; level < levels; ++level) sum[level] += before[level];
    }
    if (bytes_alone) {
      for (size_t level = 0; level < levels; ++level)
        if (sum[level] > room[level]) bound[level] = infinite;
    } else {
      for (size_t level = 0; level < levels; ++level)
        bound[level] = std::max(bound[level], sum[level] - multiplier * room[level]);
    }
  }
}

/// Per layer kind, or boundary: what has come up to there.
std::vector<double> PriceBound::before(double Kind::*part) const {
  std::vector<double> sums = {0};
  for (const int64_t kind : kinds_of_) sums.push_back(sums.back() + kinds_[static_cast<size_t>(kind)].*part);
  return sums;
}

/// One way of the first micro-batch to each stage, in messages of the cheapest layout.
std::vector<double> PriceBound::messages_before() const {
  std::vector<double> sums = {0};
  for (int64_t stage = 0; stage + 1 < stages_; ++stage) {
    int64_t least = unreachable;
    for (int32_t layout = 0; layout < prices_.layouts(); ++layout)
      least = std::min(least, prices_.message_time(stage, layout));
    sums.push_back(sums.back() + static_cast<double>(least) / static_cast<double>(micros_));
  }
  return sums;
}

int64_t PriceBound::bound() const {
  if (!possible_) return unreachable;
  const auto forward = before(&Kind::forward), backward = before(&Kind::backward);
  const auto sent = messages_before();
  const double too_much = static_cast<double>(unreachable / 2);
  const auto layers = static_cast<int64_t>(kinds_of_.size());
  // Of longer stretches than have bounds, their last layers are one that has.
  const auto stretch_of = [&](int64_t first, int64_t last) {
    const int64_t shorter = std::max(first, last + 1 - longest_);
    return static_cast<size_t>(stretches_.of(shorter, last));
  };
  const auto least = [&](int64_t stage, int64_t first, int64_t last) -> int64_t {
    const Table& table = tables_[table_of_[static_cast<size_t>(stage)]];
    const auto from = static_cast<size_t>(first), end = static_cast<size_t>(last + 1);
    const auto stretch = stretch_of(first, last);
    const double come = sent[static_cast<size_t>(stage)];
    const double whole =
        std::max(table.whole[stretch], fastest_[end] - fastest_[from]) + forward[from] + come;
    const double to_end = forward.back() + backward.back() - backward[end] + 2 * sent.back();
    const double late = table.late[stretch] + to_end - come;
    const double drained = table.drained[stretch] + to_end + backward[from];
    return static_cast<int64_t>(std::min(std::max({whole, late, drained}), too_much));
  };
  const int64_t bound = flattest_worth({stages_, layers, micros_, prices_.layouts()}, least, unreachable / 2);
  if (bound >= unreachable / 2) return unreachable;
  // Times were rounded layer by layer, sums of doubles.
  const double rounding = static_cast<double>(kinds_of_.size()) * static_cast<double>(micros_ + 3);
  return std::max<int64_t>(0, static_cast<int64_t>(static_cast<double>(bound) * (1 - 1e-10) - rounding));
}

}  // namespace galvatron::search
