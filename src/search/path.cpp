// Branch and bound over the scratch, best bound first. The optimum of a box is the optimum of the problem
// when the scratch that it really takes fits; else that scratch cuts the box in two: less is allowed, or as
// much is charged.
#include "search/path.hpp"

#include <algorithm>
#include <map>
#include <memory>
#include <queue>
#include <tuple>

#include "core/errors.hpp"
#include "search/relaxation.hpp"

namespace galvatron::search {
namespace {

constexpr int most_exchanges = 200;
/// Scratch of less than this part of the budget is left to the labels to find out.
constexpr int64_t small_part = 4096;

/// What a path really takes.
struct Measured {
  int64_t time = 0, bytes = 0;
  ScratchBytes scratch{};

  int64_t total() const {
    int64_t sum = bytes;
    for (const int64_t part : scratch) sum += part;
    return sum;
  }
};

Measured measure(const PathProblem& problem, Ways& ways, const std::vector<int32_t>& picks) {
  Measured sum;
  int32_t before = problem.enters;
  for (size_t layer = 0; layer < picks.size(); ++layer) {
    const Option& option = (*problem.layers[layer].options)[static_cast<size_t>(picks[layer])];
    if (before != any_layout && before != option.layout) {
      const Way& way = ways.exact(before, option.layout);
      sum.time += way.time;
      sum.scratch[work] = std::max(sum.scratch[work], way.work);
    }
    before = option.layout;
    sum.time += option.time;
    sum.bytes += option.bytes;
    for (const auto kind : {work, gathered, unreduced})
      sum.scratch[kind] = std::max(sum.scratch[kind], option.scratch[kind]);
    sum.scratch[flow] = std::max(sum.scratch[flow], option.scratch[flow] * problem.flows);
  }
  return sum;
}

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
  ScratchBox box;
  std::shared_ptr<Relaxation> relaxation;  // shared: queues copy
  std::vector<char> dead;                  ///< layouts that no better path passes through
  bool operator<(const Waiting& other) const {
    return std::tie(other.bound, other.number) < std::tie(bound, number);
  }
};

class Solver {
 public:
  Solver(const PathProblem& problem, Ways& ways, PathCounts& counts, int64_t limit, int64_t label_limit)
      : problem_(problem), ways_(ways), counts_(counts), limit_(limit), labels_left_(label_limit) {}

  std::optional<Path> run() {
    ++counts_.problems;
    add(tightened(whole_box(), problem_), std::vector<char>(static_cast<size_t>(ways_.layouts()), 0));
    while (!waiting_.empty() && waiting_.top().bound < static_cast<double>(limit_)) {
      const Waiting next = waiting_.top();
      waiting_.pop();
      open(next);
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
    waiting_.push({*bound, number_++, box, std::move(relaxation), std::move(dead)});
  }

  /// Takes a path that is better than the best so far. Whether it is within the budget.
  bool consider(std::vector<int32_t> picks) {
    Measured taken = measure(problem_, ways_, picks);
    if (taken.total() > problem_.budget) return false;
    improve(picks, taken);
    if (taken.time >= limit_) return true;
    limit_ = taken.time;
    best_ = Path{taken.time, taken.total(), std::move(picks), true, 0};
    return true;
  }

  /// Spends what is left of the budget: one or two layers at a time take another option of their layout, as
  /// long as that saves time and the scratch does not grow.
  void improve(std::vector<int32_t>& picks, Measured& taken) const {
    for (int round = 0; round < most_exchanges; ++round) {
      const auto moves = moves_of(picks, taken);
      const auto [first, second] = best_exchange(moves, problem_.budget - taken.total());
      if (first == nullptr) return;
      const size_t changed = apply(*first, picks, picks.size());
      if (second != nullptr) apply(*second, picks, changed);
      taken = measure(problem_, ways_, picks);
    }
  }

  /// A layer with some option takes another one. Equal layers are listed once, with how many there are.
  struct Move {
    const std::vector<Option>* options = nullptr;
    int32_t from = 0, to = 0;
    int64_t time = 0, bytes = 0, count = 0;
  };

  std::vector<Move> moves_of(const std::vector<int32_t>& picks, const Measured& taken) const {
    std::map<std::pair<size_t, int32_t>, int64_t> counts;
    std::vector<const std::vector<Option>*> lists;
    for (size_t layer = 0; layer < picks.size(); ++layer) {
      const auto* options = problem_.layers[layer].options;
      const auto found = std::find(lists.begin(), lists.end(), options);
      const auto number = static_cast<size_t>(found - lists.begin());
      if (found == lists.end()) lists.push_back(options);
      ++counts[{number, picks[layer]}];
    }
    std::vector<Move> moves;
    for (const auto& [key, count] : counts) {
      const auto& options = *lists[key.first];
      const Option& now = options[static_cast<size_t>(key.second)];
      for (size_t i = 0; i < options.size(); ++i) {
        const Option& other = options[i];
        if (other.layout != now.layout || (other.time >= now.time && other.bytes >= now.bytes)) continue;
        if (!grows(other, taken))
          moves.push_back({&options, key.second, static_cast<int32_t>(i), other.time - now.time,
                           other.bytes - now.bytes, count});
      }
    }
    return moves;
  }

  bool grows(const Option& option, const Measured& taken) const {
    if (option.scratch[flow] * problem_.flows > taken.scratch[flow]) return true;
    for (const auto kind : {work, gathered, unreduced})
      if (option.scratch[kind] > taken.scratch[kind]) return true;
    return false;
  }

  /// The one or two moves that save most time within `left` bytes; none when no time is saved.
  static std::pair<const Move*, const Move*> best_exchange(const std::vector<Move>& moves, int64_t left) {
    std::pair<const Move*, const Move*> best = {nullptr, nullptr};
    int64_t saved = 0;
    for (const Move& a : moves) {
      if (a.time >= 0) continue;
      if (a.bytes <= left && a.time < saved) {
        saved = a.time;
        best = {&a, nullptr};
      }
      for (const Move& b : moves) {
        if (a.time + b.time >= saved || a.bytes + b.bytes > left) continue;
        if (a.options == b.options && a.from == b.from && a.count < 2) continue;
        saved = a.time + b.time;
        best = {&a, &b};
      }
    }
    return best;
  }

  /// Moves the first layer that it fits, other than `except`; its index.
  size_t apply(const Move& move, std::vector<int32_t>& picks, size_t except) const {
    for (size_t layer = 0; layer < picks.size(); ++layer)
      if (layer != except && problem_.layers[layer].options == move.options && picks[layer] == move.from) {
        picks[layer] = move.to;
        return layer;
      }
    return picks.size();
  }

  /// Labels are dear: they are asked only where the scratch of the walks on both sides of the budget is
  /// charged for, but for a small part.
  void open(const Waiting& waiting) {
    ScratchBytes taken = measure(problem_, ways_, waiting.relaxation->near().picks).scratch;
    const auto beyond = measure(problem_, ways_, waiting.relaxation->beyond().picks).scratch;
    for (size_t kind = 0; kind < scratch_kinds; ++kind) taken[kind] = std::max(taken[kind], beyond[kind]);
    const auto kind = worst_kind(taken, waiting.box);
    if (kind && taken[*kind] - waiting.box.floor[*kind] > problem_.budget / small_part) {
      cut(waiting, taken);
      return;
    }
    bool complete = true;
    const int64_t before = counts_.labels;
    const auto walk = waiting.relaxation->label(limit_, labels_left_, complete);
    labels_left_ -= counts_.labels - before;
    if (!complete) {
      complete_ = false;
      floor_ = std::min(floor_, static_cast<int64_t>(waiting.bound));
    }
    if (!walk || consider(walk->picks)) return;
    const bool in_two = cut(waiting, measure(problem_, ways_, walk->picks).scratch);
    GALV_ASSERT(in_two, walk->bytes, problem_.budget);
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
  for (size_t i = 0; i < options.size(); ++i) {
    bool covered = false;
    for (size_t j = 0; j < options.size() && !covered; ++j)
      covered = i != j && covers(options[j], options[i]) && (j < i || !covers(options[i], options[j]));
    if (!covered) kept.push_back(options[i]);
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
