// Dynamic programme over (stage, last layer, layout) with Pareto labels (sum, largest), on lower bounds: the
// split that they favour has its stages solved exactly, then again, until the favoured split is exact
// throughout. What is then favoured is optimal, because every other split's bound is no better. Which triples
// (stage, first, last) can be part of a split within the limit is found without layouts first.
#include "search/split.hpp"

#include <algorithm>
#include <map>
#include <tuple>

#include "core/errors.hpp"
#include "search/split_window.hpp"

namespace galvatron::search {
namespace {

struct Label {
  int64_t sum = 0, largest = 0;
  int64_t first = 0;  ///< first layer of the last stage
  int32_t enters = any_layout;
  int32_t parent = -1;  ///< label at (stage − 1, first − 1, enters)
};

/// Exact values, found fast where there are none: that is nearly everywhere.
class Known {
 public:
  explicit Known(const SplitProblem& problem)
      : layers_(problem.layers), any_(static_cast<size_t>(problem.stages * problem.layers), 0) {}

  std::optional<int64_t> find(const StageCase& one) const {
    if (any_[index(one)] == 0) return std::nullopt;
    const auto found = values_.find(one);
    return found == values_.end() ? std::nullopt : std::optional(found->second);
  }
  void set(const StageCase& one, int64_t value) {
    any_[index(one)] = 1;
    values_[one] = value;
  }
  int64_t size() const { return static_cast<int64_t>(values_.size()); }

 private:
  size_t index(const StageCase& one) const { return static_cast<size_t>(one.stage * layers_ + one.last); }

  int64_t layers_;
  std::vector<char> any_;
  std::map<StageCase, int64_t> values_;
};

/// One run of the programme.
class Programme {
 public:
  Programme(const SplitProblem& problem, const Known& exact, const StageValues& values,
            const SplitWindow& window, int64_t limit)
      : problem_(problem),
        exact_(exact),
        values_(values),
        window_(window),
        limit_(limit),
        labels_(static_cast<size_t>(problem.stages * problem.layers)) {}

  std::optional<Split> run() {
    for (int64_t stage = 0; stage < problem_.stages; ++stage)
      for (int64_t last = stage; last < problem_.layers - (problem_.stages - 1 - stage); ++last) {
        const auto firsts = window_.firsts(stage, last);
        if (!firsts.empty()) extend(stage, last, firsts);
      }
    const auto& ends = at(problem_.stages - 1, problem_.layers - 1, 0);
    if (ends.empty()) return std::nullopt;
    const auto best = std::min_element(ends.begin(), ends.end(), [this](const Label& a, const Label& b) {
      return objective(a) < objective(b);
    });
    return backtrack(*best);
  }

 private:
  int64_t objective(const Label& label) const { return worth_of(label.sum, label.largest, problem_.micros); }
  const std::vector<Label>& at(int64_t stage, int64_t last, int32_t leaves) const {
    const auto& fronts = labels_[static_cast<size_t>(stage * problem_.layers + last)];
    return fronts.empty() ? none_ : fronts[static_cast<size_t>(leaves)];
  }

  int64_t value_of(const StageCase& one) const {
    const auto known = exact_.find(one);
    return known ? *known : values_.bound(one);
  }

  void extend(int64_t stage, int64_t last, const std::vector<int64_t>& firsts) {
    std::vector<std::vector<Label>> next(static_cast<size_t>(problem_.layouts));
    for (const int64_t first : firsts) {
      if (stage == 0)
        begin(last, next);
      else
        append(stage, first, last, next);
    }
    auto& fronts = labels_[static_cast<size_t>(stage * problem_.layers + last)];
    fronts.resize(next.size());
    for (size_t leaves = 0; leaves < next.size(); ++leaves) keep_front(next[leaves], fronts[leaves]);
  }

  /// Nothing leaves the last stage.
  int32_t layouts_after(int64_t stage) const { return stage + 1 == problem_.stages ? 1 : problem_.layouts; }
  int32_t leaving(int64_t stage, int32_t leaves) const {
    return stage + 1 == problem_.stages ? any_layout : leaves;
  }

  void begin(int64_t last, std::vector<std::vector<Label>>& next) const {
    for (int32_t leaves = 0; leaves < layouts_after(0); ++leaves) {
      const int64_t value = value_of({0, 0, last, any_layout, leaving(0, leaves)});
      if (value != unreachable && window_.completed(0, last, value, value) <= limit_)
        next[static_cast<size_t>(leaves)].push_back({value, value, 0, any_layout, -1});
    }
  }

  /// Layouts are looked at one by one first: few of them can be part of a split within the limit.
  void append(int64_t stage, int64_t first, int64_t last, std::vector<std::vector<Label>>& next) {
    int64_t sum = unreachable, largest = unreachable;  // the least of all labels before
    std::vector<int32_t> before;
    for (int32_t enters = 0; enters < problem_.layouts; ++enters) {
      const auto& labels = at(stage - 1, first - 1, enters);
      if (labels.empty()) continue;
      // Sums ascend, the largest descend.
      const int64_t value = values_.entering(stage, first, last, enters);
      if (!within(stage, last, labels.front().sum, labels.back().largest, value)) continue;
      before.push_back(enters);
      sum = std::min(sum, labels.front().sum);
      largest = std::min(largest, labels.back().largest);
    }
    if (before.empty()) return;
    for (int32_t leaves = 0; leaves < layouts_after(stage); ++leaves) {
      const int32_t out = leaving(stage, leaves);
      if (out != any_layout && !within(stage, last, sum, largest, values_.leaving(stage, first, last, out)))
        continue;
      for (const int32_t enters : before) {
        const auto& labels = at(stage - 1, first - 1, enters);
        const int64_t value = value_of({stage, first, last, enters, out});
        if (!within(stage, last, labels.front().sum, labels.back().largest, value)) continue;
        for (size_t l = 0; l < labels.size(); ++l) {
          const Label label{labels[l].sum + value, std::max(labels[l].largest, value), first, enters,
                            static_cast<int32_t>(l)};
          if (window_.completed(stage, last, label.sum, label.largest) <= limit_)
            next[static_cast<size_t>(leaves)].push_back(label);
        }
      }
    }
  }

  bool within(int64_t stage, int64_t last, int64_t sum, int64_t largest, int64_t value) const {
    return value != unreachable &&
           window_.completed(stage, last, sum + value, std::max(largest, value)) <= limit_;
  }

  static void keep_front(std::vector<Label>& labels, std::vector<Label>& kept) {
    std::sort(labels.begin(), labels.end(), [](const Label& a, const Label& b) {
      return std::tie(a.sum, a.largest, a.first, a.enters, a.parent) <
             std::tie(b.sum, b.largest, b.first, b.enters, b.parent);
    });
    for (const Label& label : labels)
      if (kept.empty() || label.largest < kept.back().largest) kept.push_back(label);
  }

  Split backtrack(const Label& best) {
    Split split;
    split.value = objective(best);
    split.stages.resize(static_cast<size_t>(problem_.stages));
    split.leaves.resize(split.stages.size());
    int64_t last = problem_.layers - 1;
    int32_t leaves = any_layout;
    Label own = best;
    for (int64_t stage = problem_.stages - 1; stage >= 0; --stage) {
      split.stages[static_cast<size_t>(stage)] = {own.first, last};
      split.leaves[static_cast<size_t>(stage)] = leaves;
      if (stage == 0) break;
      last = own.first - 1;
      leaves = own.enters;
      own = at(stage - 1, last, leaves)[static_cast<size_t>(own.parent)];
    }
    return split;
  }

  const SplitProblem& problem_;
  const Known& exact_;
  const StageValues& values_;
  const SplitWindow& window_;
  int64_t limit_;
  std::vector<std::vector<std::vector<Label>>> labels_;  ///< per stage, last layer and layout; few have any
  const std::vector<Label> none_;
};

/// Σ + (micros − 1) · max of a split under exact values; `unreachable` if one of them is.
int64_t value_of(const Split& split, const Known& exact, int64_t micros) {
  int64_t sum = 0, largest = 0;
  for (size_t s = 0; s < split.stages.size(); ++s) {
    const int64_t value = *exact.find(split.stage(s));
    if (value == unreachable) return unreachable;
    sum += value;
    largest = std::max(largest, value);
  }
  return worth_of(sum, largest, micros);
}

}  // namespace

StageCase Split::stage(size_t index) const {
  return {static_cast<int64_t>(index), stages[index].first, stages[index].last,
          index == 0 ? any_layout : leaves[index - 1], leaves[index]};
}

std::optional<Split> best_split(const SplitProblem& problem, StageValues& values, int64_t limit) {
  GALV_ASSERT(problem.stages >= 1 && problem.stages <= problem.layers, problem.stages, problem.layers);
  Known exact(problem);
  SplitWindow window(problem, values);
  window.narrow(limit);
  while (true) {
    auto split = Programme(problem, exact, values, window, limit).run();
    if (!split) return std::nullopt;
    bool complete = true;
    for (size_t s = 0; s < split->stages.size(); ++s) {
      const StageCase one = split->stage(s);
      if (exact.find(one)) continue;
      const int64_t value = values.exact(one);
      GALV_ASSERT(values.bound(one) <= value, one.stage, one.first, one.last, values.bound(one), value);
      exact.set(one, value);
      complete = false;
    }
    if (complete) {
      split->solved = exact.size();
      return split;
    }
    const int64_t value = value_of(*split, exact, problem.micros);
    if (value >= limit) continue;
    limit = value;
    window.narrow(limit);
  }
}

std::vector<plan::StageLayers> flattest_split(const SplitProblem& problem, const StageValue& value,
                                              Growth growth) {
  const auto columns = static_cast<size_t>(problem.layers);
  std::vector<std::vector<int64_t>> least(static_cast<size_t>(problem.stages),
                                          std::vector<int64_t>(columns, unreachable));
  auto from = least;
  for (int64_t stage = 0; stage < problem.stages; ++stage)
    for (int64_t last = stage; last < problem.layers - (problem.stages - 1 - stage); ++last)
      for (int64_t first = stage == 0 ? 0 : last; first >= stage; --first) {
        const int64_t before = stage == 0
                                   ? std::numeric_limits<int64_t>::min()
                                   : least[static_cast<size_t>(stage - 1)][static_cast<size_t>(first - 1)];
        auto& best = least[static_cast<size_t>(stage)][static_cast<size_t>(last)];
        if (before > best) continue;
        const int64_t mine = value(stage, first, last);
        if (mine > best && growth == Growth::monotone) break;
        if (mine > best) continue;
        best = std::max(before, mine);
        from[static_cast<size_t>(stage)][static_cast<size_t>(last)] = first;
      }
  std::vector<plan::StageLayers> stages(static_cast<size_t>(problem.stages));
  int64_t last = problem.layers - 1;
  for (int64_t stage = problem.stages - 1; stage >= 0; --stage) {
    const int64_t first = from[static_cast<size_t>(stage)][static_cast<size_t>(last)];
    stages[static_cast<size_t>(stage)] = {first, last};
    last = first - 1;
  }
  return stages;
}

/// Stages as long as they may be reach furthest, so whether a value is enough is found stage by stage.
int64_t flattest_worth(const SplitProblem& problem, const StageValue& value, int64_t most) {
  const auto is_enough = [&](int64_t largest) {
    int64_t first = 0;
    for (int64_t stage = 0; stage < problem.stages; ++stage) {
      const int64_t end = problem.layers - (problem.stages - 1 - stage);
      int64_t next = first;
      while (next < end && value(stage, first, next) <= largest) ++next;
      if (next == first) return false;
      first = next;
    }
    return first == problem.layers;
  };
  int64_t low = 0, high = most;
  while (low < high) {
    const int64_t middle = low + (high - low) / 2;
    if (is_enough(middle))
      high = middle;
    else
      low = middle + 1;
  }
  return low;
}

}  // namespace galvatron::search
