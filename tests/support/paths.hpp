#pragma once
// Random path problems and their full product, for tests of the search.

#include <algorithm>
#include <deque>
#include <functional>
#include <string>

#include "core/random.hpp"
#include "search/path.hpp"

namespace galvatron::test {

/// Random numbers in order.
class Dice {
 public:
  explicit Dice(uint64_t round) : key_(core::key_of(20240611, "path " + std::to_string(round))) {}
  int64_t below(int64_t bound) { return core::uniform_below(key_, next_++, bound); }

 private:
  uint64_t key_;
  uint64_t next_ = 0;
};

/// Small ranges make ties; every other option lies near a line, which makes long fronts.
inline search::Option random_option(Dice& dice, int64_t range, int32_t layouts) {
  search::Option option;
  option.layout = static_cast<int32_t>(dice.below(layouts));
  option.bytes = dice.below(range);
  option.time = dice.below(2) == 0 ? dice.below(range) : range - option.bytes + dice.below(3);
  option.scratch[search::work] = dice.below(4) * range / 4;
  option.scratch[search::gathered] = dice.below(3) == 0 ? dice.below(range) : 0;
  option.scratch[search::unreduced] = dice.below(3) == 0 ? dice.below(range) : 0;
  option.scratch[search::flow] = (1 + option.layout) * range / 16;
  return option;
}

/// Options of few kinds of layers, ways between layouts, layers of random kinds.
struct Instance {
  std::deque<std::vector<search::Option>> lists;
  std::vector<search::Way> way;
  search::Ways ways;
  search::PathProblem problem;

  Instance(uint64_t round, int64_t most_layers, int64_t most_options, int64_t most_layouts)
      : Instance(Dice(round), most_layers, most_options, most_layouts) {}

 private:
  Instance(Dice dice, int64_t most_layers, int64_t most_options, int64_t most_layouts)
      : ways(make_ways(dice, way, most_layouts)) {
    const int64_t range = dice.below(2) == 0 ? 12 : 1000;
    const int64_t kinds = 1 + dice.below(3);
    for (int64_t kind = 0; kind < kinds; ++kind) {
      auto& list = lists.emplace_back();
      const int64_t count = 1 + dice.below(most_options);
      for (int64_t i = 0; i < count; ++i) list.push_back(random_option(dice, range, ways.layouts()));
    }
    const int64_t layers = 1 + dice.below(most_layers);
    for (int64_t layer = 0; layer < layers; ++layer) {
      const auto& list = lists[static_cast<size_t>(dice.below(kinds))];
      // Sometimes a message leaves here, in a layout that the layer has.
      const int32_t leaves = dice.below(5) == 0 ? list.front().layout : search::any_layout;
      problem.layers.push_back({&list, leaves});
    }
    if (dice.below(2) == 0) problem.enters = static_cast<int32_t>(dice.below(ways.layouts()));
    problem.flows = static_cast<int32_t>(dice.below(3));
    problem.budget = unlimited;
  }

  static search::Ways make_ways(Dice& dice, std::vector<search::Way>& way, int64_t most_layouts) {
    const auto layouts = static_cast<int32_t>(1 + dice.below(most_layouts));
    const int64_t range = 1 + dice.below(3) * 40;
    for (int32_t i = 0; i < layouts * layouts; ++i) way.push_back({dice.below(range), dice.below(400)});
    const auto exact = [all = way, layouts](int32_t from, int32_t to) {
      return all[static_cast<size_t>(from * layouts + to)];
    };
    return {layouts,
            [=](int32_t from, int32_t to) {
              return search::Way{exact(from, to).time / 2, 0};
            },
            exact};
  }

 public:
  static constexpr int64_t unlimited = int64_t{1} << 50;
};

/// What a path takes, added up by itself.
struct Sum {
  int64_t time = 0, bytes = 0;
};

inline Sum sum_of(const Instance& instance, const std::vector<int32_t>& picks) {
  Sum sum;
  search::ScratchBytes most{};
  int32_t before = instance.problem.enters;
  for (size_t layer = 0; layer < picks.size(); ++layer) {
    const auto& option = (*instance.problem.layers[layer].options)[static_cast<size_t>(picks[layer])];
    if (before != search::any_layout && before != option.layout) {
      const auto& way = instance.way[static_cast<size_t>(before * instance.ways.layouts() + option.layout)];
      sum.time += way.time;
      most[search::work] = std::max(most[search::work], way.work);
    }
    before = option.layout;
    sum.time += option.time;
    sum.bytes += option.bytes;
    for (size_t kind = 0; kind < search::scratch_kinds; ++kind)
      most[kind] = std::max(most[kind], option.scratch[kind]);
  }
  most[search::flow] *= instance.problem.flows;
  for (const int64_t bytes : most) sum.bytes += bytes;
  return sum;
}

/// The least measure over all paths within the budget; search::unreachable when there is none.
inline int64_t enumerate(const Instance& instance, const std::function<int64_t(const Sum&)>& measure,
                         int64_t budget) {
  int64_t best = search::unreachable;
  std::vector<int32_t> picks;
  const std::function<void()> choose = [&] {
    if (picks.size() == instance.problem.layers.size()) {
      const Sum sum = sum_of(instance, picks);
      if (sum.bytes <= budget) best = std::min(best, measure(sum));
      return;
    }
    const auto& layer = instance.problem.layers[picks.size()];
    for (size_t i = 0; i < layer.options->size(); ++i) {
      if (layer.leaves != search::any_layout && (*layer.options)[i].layout != layer.leaves) continue;
      picks.push_back(static_cast<int32_t>(i));
      choose();
      picks.pop_back();
    }
  };
  choose();
  return best;
}

}  // namespace galvatron::test
