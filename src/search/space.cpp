// Walks the tree level by level and cuts as early as possible; every cut is counted under its reason.
#include "search/space.hpp"

#include <algorithm>
#include <limits>
#include <optional>

#include "core/format.hpp"
#include "deck/sections.hpp"
#include "program/lower.hpp"
#include "spec/axes.hpp"

namespace galvatron::search {
namespace {

using core::format;
using spec::Axis;
using spec::LayerStrategy;

std::vector<int64_t> divisors_of(int64_t n) {
  std::vector<int64_t> divisors;
  for (int64_t d = 1; d * d <= n; ++d) {
    if (n % d != 0) continue;
    divisors.push_back(d);
    if (d * d != n) divisors.push_back(n / d);
  }
  std::sort(divisors.begin(), divisors.end());
  return divisors;
}

/// Why the deck excludes the degrees, or empty.
std::string excluded(const LayerStrategy& s, const SearchOptions& options, int64_t per_node) {
  const std::pair<Axis, int32_t> degrees[] = {
      {Axis::tp, s.tp}, {Axis::sp, s.sp}, {Axis::cp, s.cp}, {Axis::dp, s.dp}};
  for (const auto& [axis, degree] : degrees)
    if (degree > 1 && !options.offers(axis)) return format("search.axes leaves out {}", spec::name_of(axis));
  if (options.max_tp > 0 && s.tp > options.max_tp) return format("search.max_tp = {}", options.max_tp);
  if (options.max_sp > 0 && s.sp > options.max_sp) return format("search.max_sp = {}", options.max_sp);
  if (options.max_cp > 0 && s.cp > options.max_cp) return format("search.max_cp = {}", options.max_cp);
  if (options.in_node && int64_t{s.tp} * s.sp > per_node)
    return format("search.in_node: tp · sp exceeds the {} ranks of a node", per_node);
  return {};
}

std::vector<LayerStrategy> choices_of(const spec::LayerSpec& spec, const Division& division,
                                      const SearchOptions& options, int64_t samples, Space& space) {
  std::vector<LayerStrategy> choices;
  const LayerStrategy& degrees = division.degrees;
  const bool replicated = int64_t{degrees.dp} * degrees.cp * degrees.sp > 1;
  std::vector<int32_t> levels = options.zero;
  std::sort(levels.begin(), levels.end());
  for (const int32_t zero : levels) {
    if (zero > 0 && !replicated) {
      space.cut("zero", "no replicas to shard over", static_cast<int64_t>(options.recompute.size()));
      continue;
    }
    for (const auto recompute : options.recompute) {
      LayerStrategy strategy = degrees;
      strategy.zero = zero;
      strategy.recompute = recompute;
      if (const auto reason = program::illegal_reason(spec, strategy, samples)) {
        space.cut("recompute", format("{}: {}", spec.kind, *reason));
      } else {
        choices.push_back(strategy);
      }
    }
  }
  // Without replicas only level 0 is left, whatever the deck lists.
  if (choices.empty() && !replicated && !program::illegal_reason(spec, degrees, samples))
    choices.push_back(degrees);
  std::sort(choices.begin(), choices.end());
  return choices;
}

/// Ordered factorisations tp × sp × cp × dp of the ranks of a stage. Kinds may be legal in some of them only.
void divide_stage(int64_t stages, const spec::ClusterSpec& cluster, const Kinds& kinds,
                  const SearchOptions& options, int64_t samples, Space& space) {
  const int64_t ranks = cluster.ranks() / stages;
  for (const int64_t tp : divisors_of(ranks))
    for (const int64_t sp : divisors_of(ranks / tp))
      for (const int64_t cp : divisors_of(ranks / tp / sp)) {
        Division division;
        division.stages = stages;
        division.degrees.tp = static_cast<int32_t>(tp);
        division.degrees.sp = static_cast<int32_t>(sp);
        division.degrees.cp = static_cast<int32_t>(cp);
        division.degrees.dp = static_cast<int32_t>(ranks / tp / sp / cp);
        const std::string reason = excluded(division.degrees, options, cluster.ranks_per_node);
        if (!reason.empty()) {
          space.cut("axes", reason);
          continue;
        }
        bool any = false;
        for (const auto& spec : kinds.specs) {
          const auto illegal = program::illegal_reason(spec, division.degrees, samples);
          if (illegal) space.cut("axes", format("{}: {}", spec.kind, *illegal));
          division.choices.push_back(illegal ? std::vector<LayerStrategy>{}
                                             : choices_of(spec, division, options, samples, space));
          any = any || !division.choices.back().empty();
        }
        if (any) space.divisions.push_back(std::move(division));
      }
}

/// All leaves below a number of stages; nothing when some kind has none.
std::optional<Pool> pool_of(int64_t stages, const Space& space, const Kinds& kinds) {
  Pool pool{stages, space.ranks / stages, {}, {}, {}};
  pool.choices.resize(static_cast<size_t>(kinds.size()));
  for (const Division& division : space.divisions)
    if (division.stages == stages)
      for (size_t kind = 0; kind < division.choices.size(); ++kind)
        pool.choices[kind].insert(pool.choices[kind].end(), division.choices[kind].begin(),
                                  division.choices[kind].end());
  for (auto& choices : pool.choices) {
    if (choices.empty()) return std::nullopt;
    std::sort(choices.begin(), choices.end());
    for (const auto& strategy : choices) pool.layouts.push_back({strategy.dp, strategy.cp});
  }
  std::sort(pool.layouts.begin(), pool.layouts.end());
  pool.layouts.erase(std::unique(pool.layouts.begin(), pool.layouts.end()), pool.layouts.end());
  for (const auto& choices : pool.choices) {
    auto& layouts = pool.layout_of.emplace_back();
    for (const auto& strategy : choices) {
      const LayoutClass layout{strategy.dp, strategy.cp};
      const auto found = std::lower_bound(pool.layouts.begin(), pool.layouts.end(), layout);
      layouts.push_back(static_cast<int32_t>(found - pool.layouts.begin()));
    }
  }
  return pool;
}

}  // namespace

Kinds::Kinds(const spec::ModelSpec& model) {
  for (const auto& layer : model.layers) {
    const auto found = std::find(specs.begin(), specs.end(), layer);
    of_layer.push_back(found - specs.begin());
    if (found == specs.end()) specs.push_back(layer);
  }
}

void Space::cut(const std::string& level, const std::string& reason, int64_t count) {
  for (Cut& cut : cuts)
    if (cut.level == level && cut.reason == reason) {
      cut.count += count;
      return;
    }
  cuts.push_back({level, reason, count});
}

int64_t Space::strategies() const {
  int64_t count = 0;
  for (const Division& division : divisions)
    for (const auto& choices : division.choices) count += static_cast<int64_t>(choices.size());
  return count;
}

Space make_space(const spec::ModelSpec& model, const Kinds& kinds, const spec::ClusterSpec& cluster,
                 const SearchOptions& options) {
  Space space;
  space.ranks = cluster.ranks();
  // A batch that grows has a sample for any replica in the end.
  const int64_t samples = options.batches.empty()
                              ? std::numeric_limits<int64_t>::max()
                              : *std::max_element(options.batches.begin(), options.batches.end());
  for (const int64_t stages : divisors_of(space.ranks)) {
    if (stages > model.size()) {
      space.cut("stages", format("more stages than the model's {} layers", model.size()));
    } else if (options.max_pp > 0 && stages > options.max_pp) {
      space.cut("stages", format("search.max_pp = {}", options.max_pp));
    } else {
      divide_stage(stages, cluster, kinds, options, samples, space);
      if (auto pool = pool_of(stages, space, kinds)) space.pools.push_back(std::move(*pool));
    }
  }
  return space;
}

SearchOptions options_from_deck(const deck::SearchSection& section, core::DType dtype,
                                const cost::Overlap& overlap) {
  SearchOptions options;
  options.overlap = overlap;
  options.batches = section.batch;
  options.schedules.clear();
  for (const auto& name : section.schedule) options.schedules.push_back(plan::schedule_named(name));
  options.placements.clear();
  for (const auto& name : section.placement) options.placements.push_back(plan::placement_named(name));
  options.axes.clear();
  for (const auto& row : spec::axis_table())
    if (std::find(section.axes.begin(), section.axes.end(), row.key) != section.axes.end())
      options.axes.push_back(row.axis);
  options.max_tp = section.max_tp;
  options.max_sp = section.max_sp;
  options.max_cp = section.max_cp;
  options.max_pp = section.max_pp;
  options.in_node = section.in_node;
  options.zero.assign(section.zero.begin(), section.zero.end());
  if (!section.recompute) options.recompute = {spec::Recompute::none};
  options.dtype = dtype;
  return options;
}

}  // namespace galvatron::search
