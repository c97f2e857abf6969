// Label setting with dominance, cut by a Lagrangian bound. The greedy walk along the lower convex hulls (the
// linear relaxation; Sinha and Zoltners, Operations Research 27, 1979) gives both the multiplier of the bound
// and a feasible packing to beat. Everything is integer: the multiplier is a fraction, sums are 128 bits.
#include "search/knapsack.hpp"

#include <algorithm>
#include <tuple>

namespace galvatron::search {
namespace {

__extension__ using Wide = __int128;

/// Labels of one layer beyond which the search settles for the greedy packing.
constexpr size_t label_limit = 500'000;

/// Keeps the items that are not dominated: bytes ascending, time descending.
void keep_front(std::vector<Item>& items) {
  std::sort(items.begin(), items.end(), [](const Item& a, const Item& b) {
    return std::tie(a.bytes, a.time, a.choice) < std::tie(b.bytes, b.time, b.choice);
  });
  size_t kept = 0;
  for (const Item& item : items)
    if (kept == 0 || item.time < items[kept - 1].time) items[kept++] = item;
  items.resize(kept);
}

/// Indices of the lower convex hull of a front.
std::vector<size_t> hull_of(const std::vector<Item>& items) {
  std::vector<size_t> hull;
  const auto is_above = [&](size_t a, size_t b, size_t c) {
    return Wide{items[b].time - items[a].time} * (items[c].bytes - items[a].bytes) >=
           Wide{items[c].time - items[a].time} * (items[b].bytes - items[a].bytes);
  };
  for (size_t i = 0; i < items.size(); ++i) {
    while (hull.size() >= 2 && is_above(hull[hull.size() - 2], hull.back(), i)) hull.pop_back();
    hull.push_back(i);
  }
  return hull;
}

/// Giving up bytes for time: one step to the left on a group's hull.
struct Trade {
  size_t group = 0, from = 0, to = 0;
  int64_t saved = 0, cost = 0;
};

/// Cheapest trades first; ties in the order of groups, so that the result is the same everywhere.
std::vector<Trade> trades_of(const std::vector<ItemGroup>& groups) {
  std::vector<Trade> trades;
  for (size_t g = 0; g < groups.size(); ++g) {
    if (groups[g].count == 0) continue;
    const auto& items = groups[g].items;
    const auto hull = hull_of(items);
    for (size_t i = hull.size() - 1; i > 0; --i)
      trades.push_back({g, hull[i], hull[i - 1], items[hull[i]].bytes - items[hull[i - 1]].bytes,
                        items[hull[i - 1]].time - items[hull[i]].time});
  }
  std::stable_sort(trades.begin(), trades.end(), [](const Trade& a, const Trade& b) {
    return Wide{a.cost} * b.saved < Wide{b.cost} * a.saved;
  });
  return trades;
}

/// λ = cost / saved, in nanoseconds per byte.
struct Multiplier {
  int64_t cost = 0, saved = 1;
  Wide of(int64_t time, int64_t bytes) const { return Wide{time} * saved + Wide{cost} * bytes; }
};

/// Counts per item of a front as picks of the caller's choices.
std::vector<Pick> picks_of(const ItemGroup& group, const std::vector<int64_t>& counts) {
  std::vector<Pick> picks;
  for (size_t i = 0; i < counts.size(); ++i)
    if (counts[i] > 0) picks.push_back({group.items[i].choice, counts[i]});
  std::sort(picks.begin(), picks.end(), [](const Pick& a, const Pick& b) { return a.choice < b.choice; });
  return picks;
}

class Solver {
 public:
  Solver(std::vector<ItemGroup> groups, int64_t budget, int64_t limit)
      : groups_(std::move(groups)), budget_(budget), limit_(limit) {
    for (ItemGroup& group : groups_) keep_front(group.items);
  }

  std::optional<Packing> run() {
    if (!relax()) return std::nullopt;
    std::optional<Packing> best;
    if (greedy_.time < limit_) {
      best = greedy_;
      limit_ = greedy_.time;
    }
    // All layers at their fastest fit: nothing can beat that.
    if (fastest_) return best;
    const bool exact = set_labels();
    if (better_) best = better_;
    if (best) best->exact = exact;
    return best;
  }

 private:
  struct Label {
    int64_t bytes = 0, time = 0;
    int32_t parent = -1;
    int32_t item = -1;
  };

  /// The greedy packing and the multiplier; false when nothing fits.
  bool relax() {
    std::vector<std::vector<int64_t>> counts;
    for (const ItemGroup& group : groups_) {
      if (group.items.empty() && group.count > 0) return false;
      counts.emplace_back(group.items.size(), 0);
      if (group.items.empty()) continue;
      counts.back().back() = group.count;
      greedy_.time += group.count * group.items.back().time;
      greedy_.bytes += group.count * group.items.back().bytes;
    }
    fastest_ = greedy_.bytes <= budget_;
    for (const Trade& trade : trades_of(groups_)) {
      if (greedy_.bytes <= budget_) break;
      auto& from = counts[trade.group][trade.from];
      const int64_t wanted = (greedy_.bytes - budget_ + trade.saved - 1) / trade.saved;
      const int64_t count = std::min(from, wanted);
      from -= count;
      counts[trade.group][trade.to] += count;
      greedy_.bytes -= count * trade.saved;
      greedy_.time += count * trade.cost;
      multiplier_ = {trade.cost, trade.saved};
    }
    for (size_t g = 0; g < groups_.size(); ++g) greedy_.picks.push_back(picks_of(groups_[g], counts[g]));
    return greedy_.bytes <= budget_;
  }

  /// Finds a packing below the limit if there is one; false when there are too many labels to tell.
  bool set_labels() {
    suffixes();
    std::vector<std::vector<Label>> layers = {{Label{}}};
    size_t step = 0;
    for (size_t g = 0; g < groups_.size(); ++g)
      for (int64_t i = 0; i < groups_[g].count; ++i, ++step) {
        layers.push_back(extend(layers.back(), groups_[g].items, step + 1));
        if (layers.back().size() > label_limit) return false;
        if (layers.back().empty()) return true;
      }
    // Fronts descend in time: the last label is the fastest.
    backtrack(layers);
    return true;
  }

  /// Least bytes and least Lagrangian value of the layers still to come.
  void suffixes() {
    int64_t count = 0;
    for (const ItemGroup& group : groups_) count += group.count;
    rest_bytes_.assign(static_cast<size_t>(count + 1), 0);
    rest_value_.assign(static_cast<size_t>(count + 1), 0);
    auto step = static_cast<size_t>(count);
    for (size_t g = groups_.size(); g-- > 0;) {
      if (groups_[g].count == 0) continue;
      const auto& items = groups_[g].items;
      Wide least = multiplier_.of(items[0].time, items[0].bytes);
      for (const Item& item : items) least = std::min(least, multiplier_.of(item.time, item.bytes));
      for (int64_t i = 0; i < groups_[g].count; ++i, --step) {
        rest_bytes_[step - 1] = rest_bytes_[step] + items.front().bytes;
        rest_value_[step - 1] = rest_value_[step] + least;
      }
    }
  }

  std::vector<Label> extend(const std::vector<Label>& labels, const std::vector<Item>& items,
                            size_t step) const {
    const Wide most = multiplier_.of(limit_, budget_) - rest_value_[step];
    const int64_t most_bytes = budget_ - rest_bytes_[step];
    std::vector<Label> next;
    for (size_t l = 0; l < labels.size(); ++l)
      for (size_t i = 0; i < items.size(); ++i) {
        const Label label{labels[l].bytes + items[i].bytes, labels[l].time + items[i].time,
                          static_cast<int32_t>(l), static_cast<int32_t>(i)};
        if (label.bytes <= most_bytes && multiplier_.of(label.time, label.bytes) < most)
          next.push_back(label);
      }
    std::sort(next.begin(), next.end(), [](const Label& a, const Label& b) {
      return std::tie(a.bytes, a.time, a.parent, a.item) < std::tie(b.bytes, b.time, b.parent, b.item);
    });
    size_t kept = 0;
    for (const Label& label : next)
      if (kept == 0 || label.time < next[kept - 1].time) next[kept++] = label;
    next.resize(kept);
    return next;
  }

  void backtrack(const std::vector<std::vector<Label>>& layers) {
    const Label& best = layers.back().back();
    if (best.time >= limit_) return;
    Packing packing;
    packing.time = best.time;
    packing.bytes = best.bytes;
    packing.picks.resize(groups_.size());
    auto at = static_cast<int32_t>(layers.back().size()) - 1;
    size_t step = layers.size() - 1;
    for (size_t g = groups_.size(); g-- > 0;) {
      std::vector<int64_t> counts(groups_[g].items.size(), 0);
      for (int64_t i = 0; i < groups_[g].count; ++i, --step) {
        const Label& label = layers[step][static_cast<size_t>(at)];
        ++counts[static_cast<size_t>(label.item)];
        at = label.parent;
      }
      packing.picks[g] = picks_of(groups_[g], counts);
    }
    better_ = packing;
  }

  std::vector<ItemGroup> groups_;
  int64_t budget_, limit_;
  Packing greedy_;
  std::optional<Packing> better_;
  Multiplier multiplier_;
  bool fastest_ = false;
  std::vector<int64_t> rest_bytes_;
  std::vector<Wide> rest_value_;
};

}  // namespace

std::optional<Packing> pack(std::vector<ItemGroup> groups, int64_t budget, int64_t limit) {
  return Solver(std::move(groups), budget, limit).run();
}

}  // namespace galvatron::search
