// The plans that people write by hand: one axis at a time, or one uniform strategy for all layers on even
// stages. They keep the search honest.
#include <algorithm>

#include "core/errors.hpp"
#include "core/format.hpp"
#include "plan/by_hand.hpp"
#include "search/deal.hpp"
#include "search/tasks.hpp"

namespace galvatron::search {
namespace {

struct Family {
  const char* name;
  bool (*holds)(const Division& division, int32_t zero);
};

constexpr Family families[] = {
    {"pure dp", [](const Division& d,
                   int32_t zero) { return d.stages == 1 && d.degrees.dp == d.degrees.ranks() && zero == 0; }},
    {"zero3", [](const Division& d,
                 int32_t zero) { return d.stages == 1 && d.degrees.dp == d.degrees.ranks() && zero == 3; }},
    {"tp", [](const Division& d,
              int32_t zero) { return d.stages == 1 && d.degrees.tp == d.degrees.ranks() && zero == 0; }},
    {"pp", [](const Division& d, int32_t zero) { return d.degrees.ranks() == 1 && zero == 0; }},
    {"3-D", [](const Division&, int32_t) { return true; }},
};

struct Entry {
  size_t family = 0;
  plan::UniformPlan wish;
};

/// Every member of every family; what is not legal comes out later.
std::vector<Entry> entries_of(const SearchContext& context, const Space& space) {
  std::vector<Entry> entries;
  for (size_t family = 0; family < std::size(families); ++family)
    for (const Division& division : space.divisions)
      for (const int32_t zero : context.options.zero) {
        if (!families[family].holds(division, zero)) continue;
        if (zero > 0 && division.degrees.tp == division.degrees.ranks()) continue;  // nothing to shard over
        for (const auto recompute : context.options.recompute)
          for (const int64_t batch : context.options.batches)
            for (int64_t micros = 1; micros <= batch; ++micros) {
              if (batch % micros != 0 || batch / micros < division.degrees.dp) continue;
              Entry entry{family, {}};
              auto& wish = entry.wish;
              wish.world = space.ranks;
              wish.batch = batch;
              wish.pp = division.stages;
              wish.tp = division.degrees.tp;
              wish.dp = division.degrees.dp;
              wish.zero = zero;
              wish.recompute = recompute;
              wish.microbatches = micros;
              entries.push_back(entry);
            }
      }
  return entries;
}

/// Nothing when the plan is not legal.
std::optional<Candidate> price(const SearchContext& context, const plan::UniformPlan& wish) {
  try {
    const auto plan = plan::plan_by_hand(wish, context.model);
    const auto price = cost::price_plan(plan, context.model, context.options.dtype, context.pricer);
    Candidate candidate;
    candidate.plan = cost::with_predictions(plan, price, context.profile);
    candidate.step_ns = static_cast<int64_t>(price.step_seconds * 1e9 + 0.5);
    candidate.memory_bytes = price.memory_bytes();
    return candidate;
  } catch (const core::UserError&) {
    return std::nullopt;
  }
}

}  // namespace

std::vector<Restricted> restricted_plans(const SearchContext& context, const Space& space,
                                         int64_t memory_bytes, core::WorkQueue& queue) {
  const auto entries = entries_of(context, space);
  const auto answers = deal(queue, entries.size(), [&](size_t i) {
    const auto candidate = price(context, entries[i].wish);
    if (!candidate) return std::string("0 0");
    return core::format("{} {}", candidate->step_ns, candidate->memory_bytes);
  });
  std::vector<Restricted> result;
  for (size_t family = 0; family < std::size(families); ++family) {
    const Entry* best = nullptr;
    int64_t best_ns = 0;
    bool legal = false;
    for (size_t i = 0; i < entries.size(); ++i) {
      const auto numbers = numbers_of(answers[i]);
      const int64_t step_ns = numbers.at(0), bytes = numbers.at(1);
      if (entries[i].family != family || step_ns == 0) continue;
      legal = true;
      if (memory_bytes > 0 && bytes > memory_bytes) continue;
      if (best != nullptr && !faster(step_ns, entries[i].wish.batch, best_ns, best->wish.batch)) continue;
      best = &entries[i];
      best_ns = step_ns;
    }
    Restricted restricted{families[family].name, std::nullopt, {}};
    if (best != nullptr)
      restricted.best = price(context, best->wish);
    else
      restricted.why_not = legal ? "does not fit" : "not in the space";
    result.push_back(std::move(restricted));
  }
  return result;
}

}  // namespace galvatron::search
