// Dynamic programme over (stage, last layer) with Pareto labels (sum, largest), on lower bounds: the split
// that they favour has its stages solved exactly, then again, until the favoured split is exact throughout.
// What is then favoured is optimal, because every other split's bound is no better.
#include "search/split.hpp"

#include <algorithm>
#include <tuple>

#include "core/errors.hpp"

namespace galvatron::search {
namespace {

struct Label {
  int64_t sum = 0, largest = 0;
  int64_t first = 0;    ///< first layer of the last stage
  int32_t parent = -1;  ///< label at (stage − 1, first − 1)
};

/// Values of all (stage, first, last), kept because the programme runs several times.
class Values {
 public:
  Values(const SplitProblem& problem, const StageValue& bound)
      : layers_(problem.layers),
        values_(static_cast<size_t>(problem.stages * layers_ * layers_), unreachable),
        exact_(values_.size(), 0) {
    for (int64_t stage = 0; stage < problem.stages; ++stage)
      for (int64_t first = stage; first < layers_; ++first)
        for (int64_t last = first; last < layers_ - (problem.stages - 1 - stage); ++last)
          values_[index(stage, first, last)] = bound(stage, first, last);
  }

  int64_t at(int64_t stage, int64_t first, int64_t last) const { return values_[index(stage, first, last)]; }
  bool exact(int64_t stage, int64_t first, int64_t last) const {
    return exact_[index(stage, first, last)] != 0;
  }
  void set_exact(int64_t stage, int64_t first, int64_t last, int64_t value) {
    const auto i = index(stage, first, last);
    GALV_ASSERT(values_[i] <= value, stage, first, last, values_[i], value);
    values_[i] = value;
    exact_[i] = 1;
  }

 private:
  size_t index(int64_t stage, int64_t first, int64_t last) const {
    return static_cast<size_t>((stage * layers_ + first) * layers_ + last);
  }

  int64_t layers_;
  std::vector<int64_t> values_;
  std::vector<char> exact_;
};

/// One run of the programme.
class Programme {
 public:
  Programme(const SplitProblem& problem, const Values& values, int64_t limit)
      : problem_(problem),
        values_(values),
        limit_(limit),
        labels_(static_cast<size_t>(problem.stages * problem.layers)) {}

  std::optional<Split> run() {
    for (int64_t stage = 0; stage < problem_.stages; ++stage)
      for (int64_t last = stage; last < problem_.layers - (problem_.stages - 1 - stage); ++last)
        extend(stage, last);
    const auto& final_labels = at(problem_.stages - 1, problem_.layers - 1);
    if (final_labels.empty()) return std::nullopt;
    const auto best =
        std::min_element(final_labels.begin(), final_labels.end(),
                         [&](const Label& a, const Label& b) { return objective(a) < objective(b); });
    return backtrack(static_cast<int32_t>(best - final_labels.begin()));
  }

 private:
  int64_t objective(const Label& label) const { return label.sum + (problem_.micros - 1) * label.largest; }
  std::vector<Label>& at(int64_t stage, int64_t last) {
    return labels_[static_cast<size_t>(stage * problem_.layers + last)];
  }

  void extend(int64_t stage, int64_t last) {
    std::vector<Label> next;
    const auto add = [&](const Label& before, int64_t first, int32_t parent) {
      const int64_t value = values_.at(stage, first, last);
      if (value == unreachable) return;
      const Label label{before.sum + value, std::max(before.largest, value), first, parent};
      if (objective(label) <= limit_) next.push_back(label);
    };
    if (stage == 0) {
      add({}, 0, -1);
    } else {
      for (int64_t first = stage; first <= last; ++first) {
        const auto& before = at(stage - 1, first - 1);
        for (size_t l = 0; l < before.size(); ++l) add(before[l], first, static_cast<int32_t>(l));
      }
    }
    std::sort(next.begin(), next.end(), [](const Label& a, const Label& b) {
      return std::tie(a.sum, a.largest, a.first, a.parent) < std::tie(b.sum, b.largest, b.first, b.parent);
    });
    auto& kept = at(stage, last);
    for (const Label& label : next)
      if (kept.empty() || label.largest < kept.back().largest) kept.push_back(label);
  }

  Split backtrack(int32_t label) {
    Split split;
    split.value = objective(at(problem_.stages - 1, problem_.layers - 1)[static_cast<size_t>(label)]);
    split.stages.resize(static_cast<size_t>(problem_.stages));
    int64_t last = problem_.layers - 1;
    for (int64_t stage = problem_.stages - 1; stage >= 0; --stage) {
      const Label& own = at(stage, last)[static_cast<size_t>(label)];
      split.stages[static_cast<size_t>(stage)] = {own.first, last};
      label = own.parent;
      last = own.first - 1;
    }
    return split;
  }

  const SplitProblem& problem_;
  const Values& values_;
  int64_t limit_;
  std::vector<std::vector<Label>> labels_;
};

/// Σ + (micros − 1) · max of a split under the exact values; `unreachable` if one of them is.
int64_t value_of(const Split& split, const Values& values, int64_t micros) {
  int64_t sum = 0, largest = 0;
  for (size_t s = 0; s < split.stages.size(); ++s) {
    const int64_t value = values.at(static_cast<int64_t>(s), split.stages[s].first, split.stages[s].last);
    if (value == unreachable) return unreachable;
    sum += value;
    largest = std::max(largest, value);
  }
  return sum + (micros - 1) * largest;
}

}  // namespace

std::optional<Split> best_split(const SplitProblem& problem, const StageValue& bound,
                                const StageValue& exact) {
  GALV_ASSERT(problem.stages >= 1 && problem.stages <= problem.layers, problem.stages, problem.layers);
  Values values(problem, bound);
  int64_t solved = 0, limit = unreachable;
  while (true) {
    auto split = Programme(problem, values, limit).run();
    if (!split) return std::nullopt;
    bool complete = true;
    for (int64_t stage = 0; stage < problem.stages; ++stage) {
      const auto [first, last] = split->stages[static_cast<size_t>(stage)];
      if (values.exact(stage, first, last)) continue;
      values.set_exact(stage, first, last, exact(stage, first, last));
      complete = false;
      ++solved;
    }
    if (complete) {
      split->solved = solved;
      return split;
    }
    limit = std::min(limit, value_of(*split, values, problem.micros));
  }
}

Split flattest_split(const SplitProblem& problem, const StageValue& value) {
  const auto columns = static_cast<size_t>(problem.layers);
  std::vector<std::vector<int64_t>> least(static_cast<size_t>(problem.stages),
                                          std::vector<int64_t>(columns, unreachable));
  auto from = least;
  for (int64_t stage = 0; stage < problem.stages; ++stage)
    for (int64_t last = stage; last < problem.layers - (problem.stages - 1 - stage); ++last)
      for (int64_t first = stage; first <= last; ++first) {
        if (stage == 0 && first > 0) break;
        const int64_t before = stage == 0
                                   ? std::numeric_limits<int64_t>::min()
                                   : least[static_cast<size_t>(stage - 1)][static_cast<size_t>(first - 1)];
        const int64_t largest = std::max(before, value(stage, first, last));
        auto& best = least[static_cast<size_t>(stage)][static_cast<size_t>(last)];
        if (largest >= best) continue;
        best = largest;
        from[static_cast<size_t>(stage)][static_cast<size_t>(last)] = first;
      }
  Split split;
  split.value = least.back().back();
  split.stages.resize(static_cast<size_t>(problem.stages));
  int64_t last = problem.layers - 1;
  for (int64_t stage = problem.stages - 1; stage >= 0; --stage) {
    const int64_t first = from[static_cast<size_t>(stage)][static_cast<size_t>(last)];
    split.stages[static_cast<size_t>(stage)] = {first, last};
    last = first - 1;
  }
  return split;
}

}  // namespace galvatron::search
