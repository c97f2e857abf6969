// Branch and bound over the scratch, best bound first. The optimum of a box is the optimum of the problem
// when the scratch that it really takes fits; else that scratch cuts the box in two: less is allowed, or as
// much is charged.
#include "search/path.hpp"

#include <algorithm>
#include <cmath>
#include <memory>
#include <queue>
#include <tuple>

#include "core/errors.hpp"
#include "search/exchange.hpp"
#include "search/labels.hpp"

namespace galvatron::search {
namespace {

/// Labels look for paths within a part of the gap between bound and limit first, then within ever more of it.
constexpr int64_t first_part = 64, growth = 4;
/// Where there are too many labels, boxes are looked at until the gap is below this part of the time.
constexpr double small_gap = 1e-4;
constexpr int most_unproven = 256;
/// Scratch of less than this part of the budget is left to the labels to find out.
constexpr int64_t small_part = 4096;

ScratchBox whole_box() {
  ScratchBox box;
  box.cap.fill(unreachable);
  return box;
}

/// Scratch that every path takes.
ScratchBox tightened(ScratchBox box, const PathProblem& problem) {
  for (const PathLayer& layer : problem.layers)
    for (size_t kind = 0; kind < scratch_kinds; ++kind) {
      int64_t least = unreachable;
      for (const Option& option : *layer.options)
        least = std::min(least, option.scratch[kind] * (kind == flow ? problem.flows : 1));
      if (least != unreachable) box.floor[kind] = std::max(box.floor[kind], least);
    }
  return box;
}

/// The kind of scratch that exceeds what is charged by most; nothing when none does.
std::optional<size_t> worst_kind(const ScratchBytes& taken, const ScratchBox& box) {
  std::optional<size_t> worst;
  int64_t most = 0;
  for (size_t kind = 0; kind < scratch_kinds; ++kind) {
    const int64_t excess = taken[kind] - box.floor[kind];
    if (excess <= most) continue;
    most = excess;
    worst = kind;
  }
  return worst;
}

/// A box that waits, with the bound on its paths.
struct Waiting {
  double bound = 0;
  int64_t number = 0;
  int64_t part = first_part;  ///< of the gap that labels look into next
  ScratchBox box;
  std::shared_ptr<Relaxation> relaxation;  // shared: queues copy
  std::vector<char> dead;                  ///< layouts that no better path passes through
  bool operator<(const Waiting& other) const {
    return std::tie(other.bound, other.number) < std::tie(bound, number);
  }
};

/// How many layers of a path are exchanged together.
enum class Effort : uint8_t { few, many };

class Solver {
 public:
  Solver(const PathProblem& problem, Ways& ways, PathCounts& counts, int64_t limit, int64_t label_limit)
      : problem_(problem), ways_(ways), counts_(counts), limit_(limit), labels_left_(label_limit) {}

  std::optional<Path> run() {
    ++counts_.problems;
    add(tightened(whole_box(), problem_), std::vector<char>(static_cast<size_t>(ways_.layouts()), 0));
    while (!waiting_.empty() && waiting_.top().bound < static_cast<double>(limit_)) {
      if (labels_left_ <= 0 && is_enough(waiting_.top().bound)) {
        leave_open(waiting_.top().bound);
        break;
      }
      Waiting next = waiting_.top();
      waiting_.pop();
      open(std::move(next));
    }
    if (best_) {
      best_->exact = complete_;
      best_->floor = complete_ ? best_->time : std::min(best_->time, floor_);
    }
    return std::move(best_);
  }

 private:
  void add(const ScratchBox& box, std::vector<char> dead) {
    ++counts_.boxes;
    auto relaxation = std::make_shared<Relaxation>(problem_, ways_, box, dead, counts_);
    auto bound = relaxation->bound();
    if (!bound) return;
    consider(relaxation->near().picks);
    if (*bound >= static_cast<double>(limit_)) return;
    const auto left = std::count(dead.begin(), dead.end(), 0);
    relaxation->mark_dead(limit_, dead);
    // Without layouts that have become useless everything after this goes faster.
    if (std::count(dead.begin(), dead.end(), 0) < left) {
      relaxation = std::make_shared<Relaxation>(problem_, ways_, box, dead, counts_);
      bound = relaxation->bound();
      if (!bound || *bound >= static_cast<double>(limit_)) return;
    }
    waiting_.push({*bound, number_++, first_part, box, std::move(relaxation), std::move(dead)});
  }

  /// Takes a path that is better than the best so far. Whether it is within the budget.
  bool consider(std::vector<int32_t> picks, Effort effort = Effort::few) {
    Measured taken = measure(problem_, ways_, picks);
    if (taken.total() > problem_.budget) return false;
    exchange(problem_, ways_, picks, taken);
    if (effort == Effort::many) exchange_many(problem_, ways_, picks, taken);
    if (taken.time >= limit_) return true;
    limit_ = taken.time;
    best_ = Path{taken.time, taken.total(), std::move(picks), true, 0};
    return true;
  }

  /// Labels have run out: is what is proven enough, or is it time to end?
  bool is_enough(double bound) {
    if (best_ && static_cast<double>(best_->time) - bound <= small_gap * static_cast<double>(best_->time))
      return true;
    return ++unproven_ > most_unproven;
  }

  /// A box with too many labels: what it has is made the best of.
  void give_up(const Waiting& waiting) {
    labels_left_ = 0;
    leave_open(waiting.bound);
    consider(waiting.relaxation->near().picks, Effort::many);
  }

  void leave_open(double bound) {
    complete_ = false;
    floor_ = std::min(floor_, static_cast<int64_t>(bound));
  }

  /// Labels are dear: they are asked only where the scratch of the walks on both sides of the budget is
  /// charged for, but for a small part.
  void open(Waiting waiting) {
    ScratchBytes taken = measure(problem_, ways_, waiting.relaxation->near().picks).scratch;
    const auto beyond = measure(problem_, ways_, waiting.relaxation->beyond().picks).scratch;
    for (size_t kind = 0; kind < scratch_kinds; ++kind) taken[kind] = std::max(taken[kind], beyond[kind]);
    const auto kind = worst_kind(taken, waiting.box);
    if (kind && taken[*kind] - waiting.box.floor[*kind] > problem_.budget / small_part)
      cut(waiting, taken);
    else
      label(std::move(waiting));
  }

  /// Looks for paths that take little more than the bound; when there are none, the box waits with a better
  /// bound.
  void label(Waiting waiting) {
    if (labels_left_ <= 0) {
      give_up(waiting);
      return;
    }
    const auto bound = static_cast<int64_t>(std::ceil(waiting.bound));
    const int64_t most = limit_ != unreachable ? limit_ : waiting.relaxation->near().time + 1;
    int64_t wanted = limit_;
    if (waiting.part > 1)
      wanted = std::min(limit_, bound + 1 + std::max<int64_t>(0, most - bound) / waiting.part);
    Labels labels(*waiting.relaxation, wanted);
    bool complete = true;
    const auto walk = labels.best(labels_left_, complete);
    labels_left_ -= labels.made();
    counts_.labels += labels.made();
    counts_.cut += labels.cut();
    if (!complete) {
      give_up(waiting);
    } else if (walk) {
      if (consider(walk->picks)) return;
      const bool in_two = cut(waiting, measure(problem_, ways_, walk->picks).scratch);
      GALV_ASSERT(in_two, walk->bytes, problem_.budget);
    } else if (wanted < limit_) {
      waiting.bound = static_cast<double>(wanted);
      waiting.part = waiting.part / growth;
      waiting_.push(std::move(waiting));
    }
  }

  /// Cuts a box where a path's scratch lies; false when all of that is charged already.
  bool cut(const Waiting& waiting, const ScratchBytes& taken) {
    const auto kind = worst_kind(taken, waiting.box);
    if (!kind) return false;
    ScratchBox less = waiting.box, more = waiting.box;
    less.cap[*kind] = taken[*kind] - 1;
    more.floor[*kind] = taken[*kind];
    add(less, waiting.dead);
    add(more, waiting.dead);
    return true;
  }

  const PathProblem& problem_;
  Ways& ways_;
  PathCounts& counts_;
  int64_t limit_, labels_left_;
  int unproven_ = 0;
  std::priority_queue<Waiting> waiting_;
  int64_t number_ = 0;
  std::optional<Path> best_;
  bool complete_ = true;
  int64_t floor_ = unreachable;
};

}  // namespace

bool covers(const Option& a, const Option& b) {
  if (a.layout != b.layout || a.time > b.time || a.bytes > b.bytes) return false;
  for (size_t kind = 0; kind < scratch_kinds; ++kind)
    if (a.scratch[kind] > b.scratch[kind]) return false;
  return true;
}

void keep_uncovered(std::vector<Option>& options) {
  std::stable_sort(options.begin(), options.end(),
                   [](const Option& a, const Option& b) { return a.layout < b.layout; });
  std::vector<Option> kept;
  for (size_t begin = 0, end = 0; begin < options.size(); begin = end) {
    while (end < options.size() && options[end].layout == options[begin].layout) ++end;
    for (size_t i = begin; i < end; ++i) {
      bool covered = false;
      for (size_t j = begin; j < end && !covered; ++j)
        covered = i != j && covers(options[j], options[i]) && (j < i || !covers(options[i], options[j]));
      if (!covered) kept.push_back(options[i]);
    }
  }
  options = std::move(kept);
}

Ways::Ways(int32_t layouts, const Price& floor, Price exact)
    : layouts_(layouts), price_(std::move(exact)), known_(static_cast<size_t>(layouts * layouts)) {
  for (int32_t from = 0; from < layouts; ++from)
    for (int32_t to = 0; to < layouts; ++to) floors_.push_back(from == to ? 0 : floor(from, to).time);
}

const Way& Ways::exact(int32_t from, int32_t to) {
  auto& known = known_[index(from, to)];
  if (!known) {
    known = price_(from, to);
    GALV_ASSERT(known->time >= floor(from, to), from, to, known->time, floor(from, to));
    floors_[index(from, to)] = known->time;
  }
  return *known;
}

std::optional<Path> best_path(const PathProblem& problem, Ways& ways, PathCounts& counts, int64_t limit,
                              int64_t label_limit) {
  GALV_ASSERT(!problem.layers.empty(), problem.budget);
  return Solver(problem, ways, counts, limit, label_limit).run();
}

std::optional<Path> lightest_path(const PathProblem& problem, Ways& ways) {
  PathCounts counts;
  const std::vector<char> dead(static_cast<size_t>(ways.layouts()), 0);
  std::optional<Path> best;
  std::vector<ScratchBox> boxes = {whole_box()};
  // Depth first: every box's bound is its bytes plus what is charged.
  while (!boxes.empty()) {
    const ScratchBox box = boxes.back();
    boxes.pop_back();
    const auto walk = Relaxation(problem, ways, box, dead, counts).lightest();
    if (!walk || (best && walk->bytes + box.charged() >= best->bytes)) continue;
    const Measured taken = measure(problem, ways, walk->picks);
    if (!best || taken.total() < best->bytes)
      best = Path{taken.time, taken.total(), walk->picks, true, taken.time};
    const auto kind = worst_kind(taken.scratch, box);
    if (!kind) continue;
    ScratchBox less = box, more = box;
    less.cap[*kind] = taken.scratch[*kind] - 1;
    more.floor[*kind] = taken.scratch[*kind];
    boxes.push_back(more);
    boxes.push_back(less);
  }
  return best;
}

}  // namespace galvatron::search
