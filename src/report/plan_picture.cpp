// The plan as a map: a row per stage, a column per layer of the model.

#include <algorithm>

#include "core/format.hpp"
#include "report/colour.hpp"
#include "report/html.hpp"
#include "report/pictures.hpp"
#include "report/svg.hpp"

namespace galvatron::report {
namespace {

using core::format;

constexpr size_t most_stages = 64;

/// Layers first … last with one strategy in one stage.
struct Run {
  size_t stage = 0;
  int64_t first = 0, last = 0;
  std::string strategy;
};

std::vector<Run> runs_of(const plan::Plan& plan) {
  std::vector<Run> runs;
  for (size_t stage = 0; stage < plan.stages.size(); ++stage) {
    const auto& layers = plan.stages[stage];
    for (int64_t layer = layers.first; layer <= layers.last; ++layer) {
      const auto text = spec::to_string(plan.layers[static_cast<size_t>(layer)]);
      if (!runs.empty() && runs.back().stage == stage && runs.back().strategy == text)
        runs.back().last = layer;
      else
        runs.push_back({stage, layer, layer, text});
    }
  }
  return runs;
}

std::string layers_text(const spec::ModelSpec& model, const Run& run) {
  const auto name = [&](int64_t layer) { return model.names[static_cast<size_t>(layer)]; };
  return run.first == run.last ? name(run.first) : name(run.first) + " … " + name(run.last);
}

/// Distinct strategies in the order in which they appear.
std::vector<std::string> strategies_of(const std::vector<Run>& runs) {
  std::vector<std::string> names;
  for (const auto& run : runs)
    if (std::find(names.begin(), names.end(), run.strategy) == names.end()) names.push_back(run.strategy);
  return names;
}

/// A strategy's place on the ramp: light ones carry dark letters.
double shade_of(const std::vector<std::string>& names, const std::string& strategy) {
  const auto at = std::find(names.begin(), names.end(), strategy) - names.begin();
  return names.size() < 2 ? 0.2
                          : 0.1 + 0.75 * static_cast<double>(at) / static_cast<double>(names.size() - 1);
}

std::string letter_of(const std::vector<std::string>& names, const std::string& strategy) {
  const auto at = std::find(names.begin(), names.end(), strategy) - names.begin();
  return at < 26 ? std::string(1, static_cast<char>('A' + at)) : format("{}", at);
}

/// The ranks of the stage that begins with this one.
std::string ranks_text(const plan::Plan& plan, int64_t first) {
  const auto stride = plan.ranks().stride(), last = first + (plan.ranks_per_stage() - 1) * stride;
  if (first == last) return format("{}", first);
  return stride == 1 ? format("{}–{}", first, last) : format("{}, {} … {}", first, first + stride, last);
}

std::string runs_table(const plan::Plan& plan, const spec::ModelSpec& model, const std::vector<Run>& runs,
                       const std::vector<std::string>& names) {
  constexpr size_t most_rows = 200;
  std::vector<std::vector<std::string>> rows = {{"", "strategy", "layers", "", "stage", "ranks"}};
  for (const auto& run : runs) {
    if (rows.size() > most_rows) break;
    const auto first = plan.first_rank_of_stage(static_cast<int64_t>(run.stage));
    rows.push_back({letter_of(names, run.strategy), run.strategy,
                    run.first == run.last ? format("{}", run.first) : format("{}–{}", run.first, run.last),
                    layers_text(model, run), format("{}", run.stage), ranks_text(plan, first)});
  }
  if (runs.size() > most_rows) rows.push_back({"…", format("{} more in plan.toml", runs.size() - most_rows)});
  return html_table(rows, {1, 2, 3, 5});
}

}  // namespace

std::string plan_picture(const plan::Plan& plan, const spec::ModelSpec& model) {
  const auto runs = runs_of(plan);
  const auto names = strategies_of(runs);
  const auto stages = std::min(plan.stages.size(), most_stages);
  const double left = 90, width = 800, row = stages > 24 ? 14 : 30, above = 34;
  const double layer = width / static_cast<double>(std::max<int64_t>(1, model.size()));
  Svg svg("plan", left + width + 10, above + row * static_cast<double>(stages) + 24, "The plan",
          format("{} stages over {} layers, {} different strategies.", plan.stages.size(), model.size(),
                 names.size()));
  svg.text(left, 14, "layer of the model", {});
  const auto every = std::max<int64_t>(1, (model.size() + 19) / 20);
  for (int64_t i = 0; i < model.size(); i += every)
    svg.text(left + (static_cast<double>(i) + 0.5) * layer, above - 5, format("{}", i), {Anchor::middle, 11});
  for (const auto& run : runs) {
    if (run.stage >= stages) break;
    const Box box{left + static_cast<double>(run.first) * layer, above + static_cast<double>(run.stage) * row,
                  static_cast<double>(run.last - run.first + 1) * layer, row - 2};
    const double t = shade_of(names, run.strategy);
    svg.rect(box, ramp(t), format("stage {}, {}: {}", run.stage, layers_text(model, run), run.strategy),
             "#333");
    const auto letter = letter_of(names, run.strategy);
    const auto both = letter + ": " + run.strategy;
    const auto shown = width_of(both, 11) < box.width - 6 ? both : fitted(letter, box.width + 4, 11);
    if (row >= 12)
      svg.text(box.x + box.width / 2, box.y + row / 2 + 3, shown, {Anchor::middle, 11, ink_on_ramp(t)});
  }
  for (size_t s = 0; s < stages; ++s)
    svg.text(left - 8, above + (static_cast<double>(s) + 0.5) * row + 3, format("stage {}", s),
             {Anchor::end, stages > 24 ? 10.0 : 12.0});
  std::string caption = "A box is a run of layers with one strategy; the letters stand for the rows below.";
  if (stages < plan.stages.size())
    caption += format(" {} more stages are not drawn.", plan.stages.size() - stages);
  return figure(svg.done(), caption) + runs_table(plan, model, runs, names);
}

}  // namespace galvatron::report
