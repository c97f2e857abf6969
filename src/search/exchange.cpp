// The best pair of moves is found in one pass over them by bytes: for each move the one that saves most time
// among those for which its bytes leave room.
#include "search/exchange.hpp"

#include <algorithm>
#include <map>
#include <tuple>

namespace galvatron::search {
namespace {

constexpr int most_exchanges = 200;
constexpr size_t most_combinations = 200'000;

/// A layer with some option takes another one. Equal layers are listed once, with how many there are.
struct Move {
  const std::vector<Option>* options = nullptr;
  int32_t from = 0, to = 0;
  int64_t time = 0, bytes = 0, count = 0;
  size_t group = 0;  ///< of moves of the same layers
};

/// The move of least time among the first ones, and the best one of another group.
struct Least {
  const Move *any = nullptr, *other = nullptr;

  void take(const Move& move) {
    if (any == nullptr || move.time < any->time) {
      if (any != nullptr && any->group != move.group) other = any;
      any = &move;
    } else if (move.group != any->group && (other == nullptr || move.time < other->time)) {
      other = &move;
    }
  }
};

bool grows(const Option& option, const Measured& taken, int32_t flows) {
  if (option.scratch[flow] * flows > taken.scratch[flow]) return true;
  for (const auto kind : {work, gathered, unreduced})
    if (option.scratch[kind] > taken.scratch[kind]) return true;
  return false;
}

/// By bytes.
std::vector<Move> moves_of(const PathProblem& problem, const std::vector<int32_t>& picks,
                           const Measured& taken) {
  std::map<std::pair<size_t, int32_t>, int64_t> counts;
  std::vector<const std::vector<Option>*> lists;
  std::map<const std::vector<Option>*, size_t> number_of;  // looked up only
  for (size_t layer = 0; layer < picks.size(); ++layer) {
    const auto* options = problem.layers[layer].options;
    const auto [found, fresh] = number_of.try_emplace(options, lists.size());
    if (fresh) lists.push_back(options);
    ++counts[{found->second, picks[layer]}];
  }
  std::vector<Move> moves;
  size_t group = 0;
  for (const auto& [key, count] : counts) {
    const auto& options = *lists[key.first];
    const Option& now = options[static_cast<size_t>(key.second)];
    for (size_t i = 0; i < options.size(); ++i) {
      const Option& other = options[i];
      if (other.layout != now.layout || (other.time >= now.time && other.bytes >= now.bytes)) continue;
      if (!grows(other, taken, problem.flows))
        moves.push_back({&options, key.second, static_cast<int32_t>(i), other.time - now.time,
                         other.bytes - now.bytes, count, group});
    }
    ++group;
  }
  std::stable_sort(moves.begin(), moves.end(),
                   [](const Move& a, const Move& b) { return a.bytes < b.bytes; });
  return moves;
}

/// The one or two moves that save most time within `left` bytes; none when no time is saved.
std::pair<const Move*, const Move*> best_exchange(const std::vector<Move>& moves, int64_t left) {
  std::vector<Least> least(1);
  for (const Move& move : moves) {
    least.push_back(least.back());
    least.back().take(move);
  }
  std::pair<const Move*, const Move*> best = {nullptr, nullptr};
  int64_t saved = 0;
  for (const Move& a : moves) {
    if (a.time >= 0) continue;
    if (a.bytes <= left && a.time < saved) {
      saved = a.time;
      best = {&a, nullptr};
    }
    const auto fitting = std::upper_bound(moves.begin(), moves.end(), left - a.bytes,
                                          [](int64_t bytes, const Move& move) { return bytes < move.bytes; });
    const Least& first = least[static_cast<size_t>(fitting - moves.begin())];
    const Move* b = first.any;
    if (b != nullptr && b->group == a.group && a.count < 2) b = first.other;
    if (b == nullptr || a.time + b->time >= saved) continue;
    saved = a.time + b->time;
    best = {&a, b};
  }
  return best;
}

/// Some layers' options against those that they have.
struct Combination {
  int64_t bytes = 0, time = 0;
  int32_t parent = 0, pick = 0;
};

void keep_front(std::vector<Combination>& combinations) {
  std::sort(combinations.begin(), combinations.end(), [](const Combination& a, const Combination& b) {
    return std::tie(a.bytes, a.time, a.parent, a.pick) < std::tie(b.bytes, b.time, b.parent, b.pick);
  });
  size_t kept = 0;
  for (const Combination& one : combinations)
    if (kept == 0 || one.time < combinations[kept - 1].time) combinations[kept++] = one;
  combinations.resize(kept);
}

/// Moves the first layer that it fits, other than `except`; its index.
size_t apply(const Move& move, const PathProblem& problem, std::vector<int32_t>& picks, size_t except) {
  for (size_t layer = 0; layer < picks.size(); ++layer)
    if (layer != except && problem.layers[layer].options == move.options && picks[layer] == move.from) {
      picks[layer] = move.to;
      return layer;
    }
  return picks.size();
}

}  // namespace

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

void exchange(const PathProblem& problem, Ways& ways, std::vector<int32_t>& picks, Measured& taken) {
  for (int round = 0; round < most_exchanges; ++round) {
    const auto moves = moves_of(problem, picks, taken);
    const auto [first, second] = best_exchange(moves, problem.budget - taken.total());
    if (first == nullptr) return;
    const size_t changed = apply(*first, problem, picks, picks.size());
    if (second != nullptr) apply(*second, problem, picks, changed);
    taken = measure(problem, ways, picks);
  }
}

namespace {

/// Layers whose options leave room both ways first: the lightest and the heaviest in turn.
std::vector<size_t> mixed_order(const PathProblem& problem, const std::vector<int32_t>& picks) {
  std::vector<size_t> sorted, mixed;
  for (size_t layer = 0; layer < picks.size(); ++layer) sorted.push_back(layer);
  const auto bytes_of = [&](size_t layer) {
    return (*problem.layers[layer].options)[static_cast<size_t>(picks[layer])].bytes;
  };
  std::stable_sort(sorted.begin(), sorted.end(),
                   [&](size_t a, size_t b) { return bytes_of(a) < bytes_of(b); });
  for (size_t low = 0, high = sorted.size(); low < high;) {
    mixed.push_back(sorted[low++]);
    if (low < high) mixed.push_back(sorted[--high]);
  }
  return mixed;
}

}  // namespace

/// Combinations of some layers' options, best by bytes and time, layer by layer.
void exchange_many(const PathProblem& problem, Ways& ways, std::vector<int32_t>& picks, Measured& taken) {
  std::vector<std::vector<Combination>> fronts = {{{}}};
  std::vector<size_t> layers;
  int64_t left = problem.budget - taken.total();
  for (const size_t layer : mixed_order(problem, picks)) {
    const auto& options = *problem.layers[layer].options;
    const Option& now = options[static_cast<size_t>(picks[layer])];
    std::vector<Combination> next;
    for (size_t i = 0; i < options.size(); ++i) {
      if (options[i].layout != now.layout || grows(options[i], taken, problem.flows)) continue;
      for (size_t before = 0; before < fronts.back().size(); ++before) {
        const Combination& from = fronts.back()[before];
        next.push_back({from.bytes + options[i].bytes - now.bytes, from.time + options[i].time - now.time,
                        static_cast<int32_t>(before), static_cast<int32_t>(i)});
      }
      if (next.size() > most_combinations) break;
    }
    if (next.size() > most_combinations) break;
    keep_front(next);
    fronts.push_back(std::move(next));
    layers.push_back(layer);
  }
  // The last one that fits is the fastest one.
  const auto& ends = fronts.back();
  auto at = static_cast<size_t>(
      std::upper_bound(ends.begin(), ends.end(), left,
                       [](int64_t bytes, const Combination& one) { return bytes < one.bytes; }) -
      ends.begin());
  if (at == 0 || ends[at - 1].time >= 0) return;
  --at;
  for (size_t i = layers.size(); i-- > 0;) {
    const Combination& one = fronts[i + 1][at];
    picks[layers[i]] = one.pick;
    at = static_cast<size_t>(one.parent);
  }
  taken = measure(problem, ways, picks);
}

}  // namespace galvatron::search
