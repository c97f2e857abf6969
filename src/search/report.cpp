// Plans and what a search found as tables.
#include "search/report.hpp"

#include <algorithm>
#include <functional>

#include "core/format.hpp"
#include "core/table.hpp"
#include "core/units.hpp"
#include "search/tasks.hpp"

namespace galvatron::search {
namespace {

using core::format;
using core::format_bytes;
using core::format_seconds;
using core::Row;
using core::table;

/// One row per term that any stage has, one column per stage.
std::vector<Row> term_rows(const plan::Plan& plan, std::vector<plan::Term> plan::StagePrediction::*terms,
                           const std::function<std::string(double)>& text) {
  std::vector<std::string> names;
  for (const auto& stage : plan.predictions)
    for (const auto& term : stage.*terms)
      if (std::find(names.begin(), names.end(), term.name) == names.end()) names.push_back(term.name);
  std::vector<Row> rows;
  for (const auto& name : names) {
    Row row = {"  " + name};
    for (const auto& stage : plan.predictions) {
      const auto& list = stage.*terms;
      const auto found =
          std::find_if(list.begin(), list.end(), [&](const auto& term) { return term.name == name; });
      row.push_back(found == list.end() ? "-" : text(found->amount));
    }
    rows.push_back(std::move(row));
  }
  return rows;
}

std::string bytes_text(double bytes) {
  return format_bytes(static_cast<int64_t>(bytes));
}

std::string layer_range(const spec::ModelSpec& model, int64_t first, int64_t last) {
  const auto name = [&](int64_t layer) { return model.names[static_cast<size_t>(layer)]; };
  return first == last ? name(first) : name(first) + " … " + name(last);
}

std::string layers_table(const plan::Plan& plan, const spec::ModelSpec& model) {
  std::vector<Row> rows = {{"layers", "", "stage", "strategy"}};
  for (size_t s = 0; s < plan.stages.size(); ++s)
    for (int64_t first = plan.stages[s].first; first <= plan.stages[s].last;) {
      int64_t last = first;
      while (last < plan.stages[s].last &&
             plan.layers[static_cast<size_t>(last + 1)] == plan.layers[static_cast<size_t>(first)])
        ++last;
      rows.push_back({first == last ? format("{}", first) : format("{}-{}", first, last),
                      layer_range(model, first, last), format("{}", s),
                      spec::to_string(plan.layers[static_cast<size_t>(first)])});
      first = last + 1;
    }
  return table(rows, {1, 3});
}

Row candidate_row(const std::string& name, const Candidate& candidate) {
  return {name, outline(candidate.plan), format_seconds(static_cast<double>(candidate.step_ns) * 1e-9),
          format("{:.4g}", samples_per_second(candidate)), format_bytes(candidate.memory_bytes)};
}

/// The forms other than direct, in one line; nothing for a plan without any.
std::string forms_line(const plan::Plan& plan) {
  std::vector<std::string> parts;
  for (const auto& [ranks, nodes, per_node, row] : plan.forms) {
    const auto place = nodes == 1 ? format("{}", ranks) : format("{} on {} nodes", ranks, nodes);
    parts.push_back(format("{} of {} {} from {}", core::name_of(row.kind), place, core::name_of(row.form),
                           format_bytes(row.from_bytes)));
  }
  return parts.empty() ? std::string() : "forms: " + core::join(parts, "; ") + "\n";
}

}  // namespace

std::string outline(const plan::Plan& plan) {
  spec::LayerStrategy degrees = plan.layers.empty() ? spec::LayerStrategy{} : plan.layers.front();
  degrees.zero = 0;
  degrees.recompute = spec::Recompute::none;
  const size_t stages = plan.stages.size();
  const auto each = plan.virtual_stages > 1 ? format(" ({} on each rank)", plan.virtual_stages) : "";
  return format("{}{}, {} micro-batch{} of {}{}", stages > 1 ? format("{} stages{} × ", stages, each) : "",
                spec::to_string(degrees), plan.microbatches, plan.microbatches == 1 ? "" : "es",
                plan.samples_per_micro(), stages > 1 ? format(", {}", plan::name_of(plan.schedule)) : "") +
         (plan.placement == plan::Placement::stage_major ? ""
                                                         : format(", {}", plan::name_of(plan.placement)));
}

std::string plan_table(const plan::Plan& plan, const spec::ModelSpec& model) {
  std::string out = format("{} ranks, batch {}: {}\n", plan.world, plan.batch, outline(plan));
  out += layers_table(plan, model);
  out += forms_line(plan);
  if (plan.predictions.empty()) return out + "not priced\n";
  std::vector<Row> rows = {
      {"stage"},       {"layers"},      {"forward, a micro-batch"}, {"backward, a micro-batch"},
      {"once a step"}, {"busy, a step"}};
  for (size_t s = 0; s < plan.predictions.size(); ++s) {
    const auto& p = plan.predictions[s];
    std::vector<std::string> stages, layers;
    for (size_t stage = s; stage < plan.stages.size(); stage += plan.predictions.size()) {
      stages.push_back(format("{}", stage));
      layers.push_back(format("{}-{}", plan.stages[stage].first, plan.stages[stage].last));
    }
    rows[0].push_back(core::join(stages, ", "));
    rows[1].push_back(core::join(layers, ", "));
    rows[2].push_back(format_seconds(p.forward_seconds));
    rows[3].push_back(format_seconds(p.backward_seconds));
    rows[4].push_back(format_seconds(p.step_seconds));
    double busy = 0;
    for (const auto& term : p.time_terms) busy += term.amount;
    rows[5].push_back(format_seconds(busy));
  }
  for (auto& row : term_rows(plan, &plan::StagePrediction::time_terms, format_seconds))
    rows.push_back(std::move(row));
  rows.push_back({"memory, a rank"});
  for (const auto& p : plan.predictions) rows.back().push_back(format_bytes(p.memory_bytes));
  for (auto& row : term_rows(plan, &plan::StagePrediction::memory_terms, bytes_text))
    rows.push_back(std::move(row));
  return out + table(rows) +
         format("predicted step {}, {:.4g} samples/s\n", format_seconds(plan.predicted_step_seconds),
                plan.predicted_step_seconds > 0
                    ? static_cast<double>(plan.batch) / plan.predicted_step_seconds
                    : 0.0);
}

/// The plans of families by name; for those without any, why.
void add_restricted(const SearchResult& result, std::vector<Row>& rows) {
  for (const Restricted& restricted : result.restricted) {
    if (!restricted.best) {
      rows.push_back({restricted.name, "none: " + restricted.why_not});
      continue;
    }
    Row row = candidate_row(restricted.name, *restricted.best);
    const auto& strategy =
        restricted.best->plan.layers[std::min<size_t>(1, restricted.best->plan.layers.size() - 1)];
    if (strategy.zero > 0) row[1] += format(", zero{}", strategy.zero);
    if (strategy.recompute == spec::Recompute::full) row[1] += ", recompute";
    row.push_back(restricted.loses);
    rows.push_back(std::move(row));
  }
}

std::string ranking_table(const SearchResult& result) {
  std::vector<Row> rows = {{"", "plan", "step", "samples/s", "memory", "loses"}};
  for (size_t i = 0; i < result.best.size(); ++i) {
    rows.push_back(candidate_row(format("{}", i + 1), result.best[i].candidate));
    rows.back().push_back(i == 0 ? "chosen" : result.best[i].loses);
  }
  if (!result.restricted.empty()) rows.push_back({"", "the best of plans by hand"});
  add_restricted(result, rows);
  const auto& s = result.statistics;
  return table(rows, {1, 5}) + format("{} of {} tasks opened, {} of them fit; {} stage optima, {}\n",
                                      s.opened, s.tasks, s.feasible, s.stage_solves,
                                      s.exact ? "all proven" : "some limited");
}

/// Leaves and cuts, level by level.
std::string levels_table(const Space& space) {
  int64_t levels = 0;
  for (const Division& division : space.divisions)
    for (const auto& choices : division.choices)
      for (size_t i = 0; i < choices.size(); ++i)
        levels += i == 0 || choices[i].zero != choices[i - 1].zero ? 1 : 0;
  const auto cut_at = [&](const std::string& level) {
    int64_t count = 0;
    for (const Cut& cut : space.cuts) count += cut.level == level ? cut.count : 0;
    return format("{}", count);
  };
  const std::pair<const char*, int64_t> left[] = {{"stages", static_cast<int64_t>(space.pools.size())},
                                                  {"axes", static_cast<int64_t>(space.divisions.size())},
                                                  {"zero", levels},
                                                  {"recompute", space.strategies()}};
  std::vector<Row> rows = {{"level", "left", "cut"}};
  for (const auto& [level, count] : left) rows.push_back({level, format("{}", count), cut_at(level)});
  return table(rows);
}

std::string space_tree(const Space& space, const Kinds& kinds) {
  std::string out = format("{} ranks: {} divisions, {} strategies over {} layer kinds\n", space.ranks,
                           space.divisions.size(), space.strategies(), kinds.size());
  int64_t stages = 0;
  for (const Division& division : space.divisions) {
    if (division.stages != stages)
      out += format("  {} stage{} of {} ranks\n", division.stages, division.stages == 1 ? "" : "s",
                    division.degrees.ranks());
    stages = division.stages;
    std::vector<std::string> parts;
    for (size_t kind = 0; kind < division.choices.size(); ++kind)
      if (!division.choices[kind].empty())
        parts.push_back(format("{} {}", kinds.specs[kind].kind, division.choices[kind].size()));
    out += format("    {}: {}\n", spec::to_string(division.degrees), core::join(parts, ", "));
  }
  out += levels_table(space);
  std::vector<Row> rows = {{"cut", "at", "because"}};
  for (const Cut& cut : space.cuts) rows.push_back({format("{}", cut.count), cut.level, cut.reason});
  return rows.size() > 1 ? out + table(rows, {1, 2}) : out;
}

std::string infeasible_text(const Infeasible& infeasible) {
  const auto& plan = infeasible.nearest.plan;
  const auto& stage = plan.predictions[static_cast<size_t>(infeasible.stage)];
  std::string out = format(
      "no plan fits into {} a rank. The nearest miss is {}, batch {}: stage {} needs {}, {} too much:\n",
      format_bytes(infeasible.memory_bytes), outline(plan), plan.batch, infeasible.stage,
      format_bytes(stage.memory_bytes), format_bytes(infeasible.short_bytes));
  std::vector<Row> rows;
  for (const auto& term : stage.memory_terms) rows.push_back({"  " + term.name, bytes_text(term.amount)});
  out += table(rows);
  if (!infeasible.proven)
    out += format("(the {} likeliest of {} tasks were looked at)\n", infeasible.tried, infeasible.tasks);
  out += format("What would help, each tried alone:\n  fits: {} a rank (cluster.memory)\n",
                format_bytes(stage.memory_bytes));
  for (const Change& change : infeasible.changes)
    out += format("  {}: {}\n", change.fits ? "fits" : "does not fit", change.what);
  return out;
}

}  // namespace galvatron::search
