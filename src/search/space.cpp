// Walks the tree level by level and cuts as early as possible; every cut is counted under its reason.
#include "search/space.hpp"

#include <algorithm>

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

bool offered(const SearchOptions& options, Axis axis) {
  return std::find(options.axes.begin(), options.axes.end(), axis) != options.axes.end();
}

/// Why the deck excludes the degrees, or empty.
std::string excluded(const LayerStrategy& s, const SearchOptions& options) {
  const std::pair<Axis, int32_t> degrees[] = {
      {Axis::tp, s.tp}, {Axis::sp, s.sp}, {Axis::cp, s.cp}, {Axis::dp, s.dp}};
  for (const auto& [axis, degree] : degrees)
    if (degree > 1 && !offered(options, axis))
      return format("search.axes leaves out {}", spec::name_of(axis));
  if (options.max_tp > 0 && s.tp > options.max_tp) return format("search.max_tp = {}", options.max_tp);
  return {};
}

/// Why some kind cannot be split like this, or empty.
std::string illegal(const Kinds& kinds, const LayerStrategy& s, int64_t samples) {
  for (const auto& spec : kinds.specs)
    if (const auto reason = program::illegal_reason(spec, s, samples))
      return format("{}: {}", spec.kind, *reason);
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

/// Ordered factorisations tp × sp × cp × dp of the ranks of a stage.
void divide_stage(int64_t stages, int64_t ranks, const Kinds& kinds, const SearchOptions& options,
                  int64_t samples, Space& space) {
  for (const int64_t tp : divisors_of(ranks))
    for (const int64_t sp : divisors_of(ranks / tp))
      for (const int64_t cp : divisors_of(ranks / tp / sp)) {
        Division division;
        division.stages = stages;
        division.degrees.tp = static_cast<int32_t>(tp);
        division.degrees.sp = static_cast<int32_t>(sp);
        division.degrees.cp = static_cast<int32_t>(cp);
        division.degrees.dp = static_cast<int32_t>(ranks / tp / sp / cp);
        std::string reason = excluded(division.degrees, options);
        if (reason.empty()) reason = illegal(kinds, division.degrees, samples);
        if (!reason.empty()) {
          space.cut("axes", reason);
          continue;
        }
        for (const auto& spec : kinds.specs)
          division.choices.push_back(choices_of(spec, division, options, samples, space));
        space.divisions.push_back(std::move(division));
      }
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
  const int64_t samples = *std::max_element(options.batches.begin(), options.batches.end());
  for (const int64_t stages : divisors_of(space.ranks)) {
    if (stages > model.size()) {
      space.cut("stages", format("more stages than the model's {} layers", model.size()));
    } else if (options.max_pp > 0 && stages > options.max_pp) {
      space.cut("stages", format("search.max_pp = {}", options.max_pp));
    } else {
      divide_stage(stages, space.ranks / stages, kinds, options, samples, space);
    }
  }
  return space;
}

SearchOptions options_from_deck(const deck::SearchSection& section, core::DType dtype) {
  SearchOptions options;
  options.batches = section.batch;
  options.schedules.clear();
  for (const auto& name : section.schedule) options.schedules.push_back(plan::schedule_named(name));
  options.axes.clear();
  for (const auto& row : spec::axis_table())
    if (std::find(section.axes.begin(), section.axes.end(), row.key) != section.axes.end())
      options.axes.push_back(row.axis);
  options.max_tp = section.max_tp;
  options.max_pp = section.max_pp;
  options.zero.assign(section.zero.begin(), section.zero.end());
  if (!section.recompute) options.recompute = {spec::Recompute::none};
  options.dtype = dtype;
  return options;
}

}  // namespace galvatron::search
