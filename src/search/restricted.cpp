// The plans that people write by hand: one axis at a time, or one uniform strategy for all layers on even
// stages. They keep the search honest.
#include <algorithm>
#include <array>
#include <map>

#include "core/errors.hpp"
#include "core/format.hpp"
#include "core/units.hpp"
#include "plan/by_hand.hpp"
#include "search/deal.hpp"
#include "search/tasks.hpp"

namespace galvatron::search {
namespace {

struct Family {
  const char* name;
  bool (*holds)(const spec::LayerStrategy& s, int64_t stages);
};

bool is_plain(const spec::LayerStrategy& s) {
  return s.sp == 1 && s.cp == 1;
}

constexpr Family families[] = {
    {"pure dp", [](const spec::LayerStrategy& s,
                   int64_t stages) { return stages == 1 && s.dp == s.ranks() && s.zero == 0; }},
    {"zero3", [](const spec::LayerStrategy& s,
                 int64_t stages) { return stages == 1 && s.dp == s.ranks() && s.zero == 3; }},
    {"tp", [](const spec::LayerStrategy& s,
              int64_t stages) { return stages == 1 && s.tp == s.ranks() && s.zero == 0; }},
    {"pp", [](const spec::LayerStrategy& s, int64_t) { return s.ranks() == 1; }},
    {"3-D", [](const spec::LayerStrategy& s, int64_t) { return is_plain(s); }},
    {"uniform", [](const spec::LayerStrategy&, int64_t) { return true; }},
};
constexpr size_t family_count = std::size(families);

/// A uniform plan that may be the best of its families.
struct Entry {
  Task task;
  spec::LayerStrategy strategy;
  int64_t uniform = 0;  ///< number of (stages, strategy)
  int64_t bound = 0;    ///< no faster than this, nanoseconds per step
  bool member[family_count] = {};
};

/// The best of a family so far.
struct Best {
  std::optional<size_t> entry;
  int64_t step_ns = 0;
};

class Families {
 public:
  Families(const SearchContext& context, const Space& space, int64_t memory_bytes, core::WorkQueue& queue)
      : context_(context), space_(space), memory_bytes_(memory_bytes), queue_(queue) {
    least_.fill(unreachable);
  }

  std::vector<Restricted> run() {
    list_entries();
    bound_entries();
    for (size_t begin = 0; begin < entries_.size(); begin += round_size) {
      std::vector<size_t> round;
      for (size_t i = begin; i < std::min(begin + round_size, entries_.size()); ++i)
        if (may_win(entries_[i])) round.push_back(i);
      if (!round.empty()) price_round(round);
    }
    std::vector<Restricted> result;
    for (size_t family = 0; family < family_count; ++family) {
      Restricted restricted;
      restricted.name = families[family].name;
      if (best_[family].entry)
        restricted.best = price(entries_[*best_[family].entry]);
      else
        restricted.why_not = why_not(family);
      result.push_back(std::move(restricted));
    }
    return result;
  }

 private:
  std::string why_not(size_t family) const {
    if (!legal_[family]) return "not in the space";
    if (least_[family] == unreachable) return "does not fit";
    return core::format("does not fit: {} or more a rank, {} too much", core::format_bytes(least_[family]),
                        core::format_bytes(least_[family] - memory_bytes_));
  }

  /// Notes what a plan of the entry takes that does not fit.
  void note_excess(const Entry& entry, int64_t bytes) {
    for (size_t family = 0; family < family_count; ++family)
      if (entry.member[family]) least_[family] = std::min(least_[family], bytes);
  }

  /// Entries priced between two looks at the best so far; the same for any number of workers.
  static constexpr size_t round_size = 8;

  void list_entries() {
    const auto last = static_cast<size_t>(context_.kinds.of_layer.back());
    for (const Pool& pool : space_.pools)
      for (const auto& strategy : pool.choices[last]) {
        if (!std::all_of(pool.choices.begin(), pool.choices.end(), [&](const auto& choices) {
              return std::binary_search(choices.begin(), choices.end(), strategy);
            }))
          continue;
        ++uniform_;
        for (const int64_t batch : context_.options.batches)
          for (int64_t micros = 1; micros <= batch; ++micros) {
            if (batch % micros != 0 || batch / micros < strategy.dp) continue;
            add_entries(pool, strategy, batch, micros);
          }
      }
  }

  void add_entries(const Pool& pool, const spec::LayerStrategy& strategy, int64_t batch, int64_t micros) {
    Entry entry;
    entry.task.batch = batch;
    entry.task.micros = micros;
    entry.task.pool = &pool;
    entry.strategy = strategy;
    entry.uniform = uniform_;
    for (size_t family = 0; family < family_count; ++family) {
      entry.member[family] = families[family].holds(strategy, pool.stages);
      legal_[family] |= entry.member[family];
    }
    for (const auto placement : placements_of(pool, context_.pricer.model().cluster(), context_.options)) {
      entry.task.placement = placement;
      entries_.push_back(entry);
    }
  }

  void bound_entries() {
    std::vector<std::pair<size_t, size_t>> groups;  // entries of one strategy: first, end
    for (size_t i = 0; i < entries_.size(); ++i)
      if (groups.empty() || entries_[i].uniform != entries_[groups.back().first].uniform)
        groups.emplace_back(i, i + 1);
      else
        groups.back().second = i + 1;
    // The bound does not ask for ZeRO and recompute: those that differ in nothing else share it.
    std::map<std::pair<const Pool*, spec::LayerStrategy>, size_t> numbers;
    std::vector<size_t> number_of;
    for (const auto& [first, end] : groups) {
      auto strategy = entries_[first].strategy;
      strategy.zero = 0;
      strategy.recompute = spec::Recompute::none;
      number_of.push_back(
          numbers.try_emplace({entries_[first].task.pool, strategy}, numbers.size()).first->second);
    }
    std::vector<std::vector<int64_t>> known(numbers.size());
    const auto bounds_of = [&](size_t g) -> const std::vector<int64_t>& {
      auto& bounds = known[number_of[g]];
      for (size_t i = groups[g].first + bounds.size(); i < groups[g].second; ++i)
        bounds.push_back(quick_bound(context_, entries_[i].task, entries_[i].strategy));
      return bounds;
    };
    const auto answers = deal(
        queue_, groups.size(),
        [&](size_t g) {
          const int64_t held = held_bytes(entries_[groups[g].first]);
          const bool too_much = memory_bytes_ > 0 && held > memory_bytes_;
          std::string answer = core::format("{}", held);
          if (too_much) return answer;
          for (const int64_t bound : bounds_of(g)) answer += core::format(" {}", bound);
          return answer;
        },
        [&](size_t g) { return number_of[g]; });
    for (size_t g = 0; g < groups.size(); ++g) {
      const auto bounds = numbers_of(answers[g]);
      const bool too_much = bounds.size() == 1;
      if (too_much) note_excess(entries_[groups[g].first], bounds.front());
      for (size_t i = groups[g].first; i < groups[g].second; ++i)
        entries_[i].bound = too_much ? unreachable : bounds.at(1 + i - groups[g].first);
    }
    std::vector<Entry> kept;
    for (size_t i = 0; i < entries_.size(); ++i) {
      if (entries_[i].bound != unreachable) kept.push_back(entries_[i]);
    }
    entries_ = std::move(kept);
    std::stable_sort(entries_.begin(), entries_.end(), [](const Entry& a, const Entry& b) {
      return faster(a.bound, a.task.batch, b.bound, b.task.batch);
    });
  }

  /// Parameters, gradients and moments of the fullest rank at least, whatever the micro-batch: layers are
  /// spread over the stages, so some stage has at least its part.
  int64_t held_bytes(const Entry& entry) const {
    if (memory_bytes_ <= 0) return 0;
    int64_t sum = 0;
    for (const int64_t kind : context_.kinds.of_layer)
      sum += search::held_bytes(context_, entry.task, context_.kinds.specs[static_cast<size_t>(kind)],
                                entry.strategy);
    return sum / entry.task.pool->stages;
  }

  bool may_win(const Entry& entry) const {
    for (size_t family = 0; family < family_count; ++family)
      if (entry.member[family] && (!best_[family].entry || !beaten(entry, best_[family]))) return true;
    return false;
  }

  bool beaten(const Entry& entry, const Best& best) const {
    return !faster(entry.bound, entry.task.batch, best.step_ns, entries_[*best.entry].task.batch);
  }

  /// Beyond them the entry is the best of none of its families.
  cost::PriceLimits limits_of(const Entry& entry) const {
    cost::PriceLimits limits;
    if (memory_bytes_ > 0) limits.memory_bytes = memory_bytes_;
    double slowest = 0;
    for (size_t family = 0; family < family_count; ++family) {
      if (!entry.member[family]) continue;
      if (!best_[family].entry) return limits;
      slowest = std::max(slowest, static_cast<double>(best_[family].step_ns) /
                                      static_cast<double>(entries_[*best_[family].entry].task.batch));
    }
    limits.step_seconds = slowest * static_cast<double>(entry.task.batch) * (1e-9 + 1e-18);
    return limits;
  }

  void price_round(const std::vector<size_t>& round) {
    const auto answers = deal(queue_, round.size(), [&](size_t i) {
      const auto candidate = price(entries_[round[i]], limits_of(entries_[round[i]]));
      if (!candidate) return std::string("0 0");
      return core::format("{} {}", candidate->step_ns, candidate->memory_bytes);
    });
    for (size_t i = 0; i < round.size(); ++i) {
      const auto numbers = numbers_of(answers[i]);
      const Entry& entry = entries_[round[i]];
      if (numbers.at(0) == 0) continue;
      if (memory_bytes_ > 0 && numbers.at(1) > memory_bytes_) {
        note_excess(entry, numbers.at(1));
        continue;
      }
      for (size_t family = 0; family < family_count; ++family) {
        Best& best = best_[family];
        if (!entry.member[family]) continue;
        if (best.entry &&
            !faster(numbers.at(0), entry.task.batch, best.step_ns, entries_[*best.entry].task.batch))
          continue;
        best = {round[i], numbers.at(0)};
      }
    }
  }

  /// Nothing when the plan is not legal.
  std::optional<Candidate> price(const Entry& entry, const cost::PriceLimits& limits = {}) const {
    plan::UniformPlan wish;
    wish.world = space_.ranks;
    wish.batch = entry.task.batch;
    wish.pp = entry.task.pool->stages;
    wish.tp = entry.strategy.tp;
    wish.sp = entry.strategy.sp;
    wish.cp = entry.strategy.cp;
    wish.dp = entry.strategy.dp;
    wish.zero = entry.strategy.zero;
    wish.recompute = entry.strategy.recompute;
    wish.microbatches = entry.task.micros;
    wish.placement = entry.task.placement;
    try {
      return priced(context_, plan::plan_by_hand(wish, context_.model, context_.fingerprint), limits);
    } catch (const core::UserError&) {
      return std::nullopt;
    }
  }

  const SearchContext& context_;
  const Space& space_;
  int64_t memory_bytes_;
  core::WorkQueue& queue_;
  std::vector<Entry> entries_;
  int64_t uniform_ = 0;
  Best best_[family_count];
  bool legal_[family_count] = {};
  std::array<int64_t, family_count> least_;  ///< bytes of the smallest that does not fit
};

}  // namespace

std::vector<Restricted> restricted_plans(const SearchContext& context, const Space& space,
                                         int64_t memory_bytes, core::WorkQueue& queue) {
  return Families(context, space, memory_bytes, queue).run();
}

}  // namespace galvatron::search
