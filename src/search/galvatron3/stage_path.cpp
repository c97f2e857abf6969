// Branch and bound over how many layers take each choice. Layers are equal, so the order matters only between
// blocks: the cheapest order of a set of choices is worked out once per set (Held and Karp, J. SIAM 10,
// 1962). Choices that the bound likes least come first, because they are soon found to be useless; those that
// remain mix on the convex hull, where the bound is tight.
#include "search/galvatron3/stage_path.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <numeric>

#include "core/errors.hpp"

namespace galvatron::search::galvatron3 {
namespace {

constexpr double infinite = std::numeric_limits<double>::infinity();
constexpr int64_t most_labels = 4'000'000;
constexpr double rounding = 1e-13;
constexpr size_t most_ordered = 12;  ///< blocks whose best order is worked out

/// The cheapest order of a set of choices.
struct Order {
  double seconds = 0;
  std::vector<size_t> choices;
};

class Solver {
 public:
  Solver(const PathProblem& problem, PathStatistics& statistics)
      : problem_(problem), statistics_(statistics) {}

  std::optional<StagePath> solve() {
    ++statistics_.solved;
    if (problem_.layers == 0) return StagePath{};
    arrange();
    counts_.assign(order_.size(), 0);
    if (problem_.budget >= 0) branch(0, problem_.layers, problem_.budget, 0);
    if (!proven_) ++statistics_.not_proven;
    return best_;
  }

 private:
  double between(size_t from, size_t to) const {
    return problem_.between[from * problem_.choices.size() + to];
  }

  /// Choices by what they lose against the hull at this budget, the worst first.
  void arrange() {
    const auto& choices = problem_.choices;
    const PathBound all(choices);
    const double worth = all.worth(problem_.layers, static_cast<double>(problem_.budget));
    const auto cost = [&](size_t i) {
      return choices[i].seconds + worth * static_cast<double>(choices[i].units);
    };
    order_.resize(choices.size());
    std::iota(order_.begin(), order_.end(), size_t{0});
    std::stable_sort(order_.begin(), order_.end(), [&](size_t a, size_t b) { return cost(a) > cost(b); });
    for (size_t k = 0; k <= order_.size(); ++k) {
      std::vector<PathChoice> rest;
      for (size_t i = k; i < order_.size(); ++i) rest.push_back(choices[order_[i]]);
      bounds_.emplace_back(std::move(rest));
    }
  }

  /// Decides how many of the remaining layers take the k-th choice, the most promising number first.
  void branch(size_t k, int64_t layers, int64_t budget, double seconds) {
    if (layers == 0) {
      take(seconds, budget);
      return;
    }
    if (k == order_.size() || !proven_) return;
    const auto& choice = problem_.choices[order_[k]];
    const double without = order_of_used().seconds;
    counts_[k] = 1;
    const double with = order_of_used().seconds;
    std::vector<std::pair<double, int64_t>> numbers;  // bound, count
    for (int64_t count = 0; count <= layers && count * choice.units <= budget; ++count) {
      const auto left = static_cast<double>(budget - count * choice.units);
      const double bound = seconds + static_cast<double>(count) * choice.seconds +
                           bounds_[k + 1].seconds(layers - count, left) + (count > 0 ? with : without);
      ++statistics_.labels;
      if (beats_best(bound)) {
        numbers.emplace_back(bound, count);
      } else {
        ++statistics_.cut;
      }
    }
    if (statistics_.labels - labels_before_ > most_labels) proven_ = false;
    std::sort(numbers.begin(), numbers.end());
    for (const auto& [bound, count] : numbers) {
      if (!beats_best(bound)) break;
      counts_[k] = count;
      branch(k + 1, layers - count, budget - count * choice.units,
             seconds + static_cast<double>(count) * choice.seconds);
    }
    counts_[k] = 0;
  }

  /// Sums in another order differ in their last digits: such plans are equal.
  bool beats_best(double seconds) const { return seconds < best_seconds_ * (1 - rounding); }

  void take(double seconds, int64_t unused) {
    const auto& order = order_of_used();
    if (!beats_best(seconds + order.seconds) && best_) return;
    best_seconds_ = seconds + order.seconds;
    best_ = StagePath{best_seconds_, problem_.budget - unused, {}};
    for (const auto choice : order.choices) {
      const auto at = static_cast<size_t>(std::find(order_.begin(), order_.end(), choice) - order_.begin());
      best_->blocks.push_back({choice, counts_[at]});
    }
  }

  const Order& order_of_used() {
    std::vector<size_t> used;
    for (size_t i = 0; i < counts_.size(); ++i)
      if (counts_[i] > 0) used.push_back(order_[i]);
    const auto found = orders_.find(used);
    if (found != orders_.end()) return found->second;
    auto order = used.size() > most_ordered ? as_it_stands(used) : cheapest(used);
    return orders_.emplace(std::move(used), std::move(order)).first->second;
  }

  /// For sets that are too large; no less than the cheapest.
  Order as_it_stands(const std::vector<size_t>& used) {
    proven_ = false;
    Order out = {0, used};
    for (size_t i = 1; i < used.size(); ++i) out.seconds += between(used[i - 1], used[i]);
    return out;
  }

  Order cheapest(const std::vector<size_t>& used) const {
    const size_t n = used.size();
    if (n < 2) return {0, used};
    const size_t sets = size_t{1} << n;
    std::vector<double> cost(sets * n, infinite);
    std::vector<size_t> before(sets * n, n);
    for (size_t i = 0; i < n; ++i) cost[(size_t{1} << i) * n + i] = 0;
    for (size_t set = 1; set < sets; ++set)
      for (size_t last = 0; last < n; ++last) {
        const double so_far = cost[set * n + last];
        if (so_far == infinite) continue;
        for (size_t next = 0; next < n; ++next) {
          if ((set >> next & 1) != 0) continue;
          const size_t at = (set | size_t{1} << next) * n + next;
          const double longer = so_far + between(used[last], used[next]);
          if (longer < cost[at]) cost[at] = longer, before[at] = last;
        }
      }
    const size_t full = sets - 1;
    size_t last = 0;
    for (size_t i = 1; i < n; ++i)
      if (cost[full * n + i] < cost[full * n + last]) last = i;
    Order out = {cost[full * n + last], {}};
    for (size_t set = full; last != n;) {
      out.choices.push_back(used[last]);
      const size_t previous = before[set * n + last];
      set ^= size_t{1} << last;
      last = previous;
    }
    std::reverse(out.choices.begin(), out.choices.end());
    return out;
  }

  const PathProblem& problem_;
  PathStatistics& statistics_;
  const int64_t labels_before_ = statistics_.labels;
  std::vector<size_t> order_;      ///< choices in the order of branching
  std::vector<PathBound> bounds_;  ///< of the choices from the k-th on
  std::vector<int64_t> counts_;    ///< of order_, on the way to the current node
  std::map<std::vector<size_t>, Order> orders_;
  std::optional<StagePath> best_;
  double best_seconds_ = infinite;  ///< of best_
  bool proven_ = true;
};

}  // namespace

std::optional<StagePath> shortest_path(const PathProblem& problem, PathStatistics& statistics) {
  GALV_ASSERT(problem.between.size() == problem.choices.size() * problem.choices.size(),
              problem.between.size(), problem.choices.size());
  return Solver(problem, statistics).solve();
}

}  // namespace galvatron::search::galvatron3
