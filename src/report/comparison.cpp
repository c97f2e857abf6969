// Predicted beside measured. The terms of the price are sorted into the sections that the runtime times; what
// the lanes leave over of the predicted step is waiting.

#include <algorithm>
#include <cmath>

#include "core/format.hpp"
#include "core/units.hpp"
#include "report/axis.hpp"
#include "report/colour.hpp"
#include "report/html.hpp"
#include "report/pictures.hpp"

namespace galvatron::report {
namespace {

using core::format;

struct Pair {
  std::string name;
  double predicted = 0, measured = 0;  ///< seconds per step, mean over the ranks
};

/// The section in which the runtime counts what a term prices.
std::string section_of(const std::string& term) {
  if (term.ends_with(" tensor parallel") || term.ends_with(" transition")) return "tensor parallel";
  if (term.ends_with(" state") || term == "gradient sync" || term == "parameter gather" ||
      term == "agreement")
    return "gradient sync";
  if (term.starts_with("forward ")) return "forward";
  if (term.starts_with("backward ")) return "backward";
  return term;
}

double measured_of(const Ending& ending, const std::string& section) {
  const auto steps = static_cast<double>(std::max<int64_t>(1, ending.steps - ending.resumed_from));
  for (const auto& row : ending.sections)
    if (row.name == section) return row.mean / steps;
  return 0;
}

std::vector<Pair> pairs_of(const plan::Plan& plan, const Ending& ending) {
  std::vector<Pair> pairs = {
      {"forward"}, {"backward"}, {"tensor parallel"}, {"gradient sync"}, {"optimizer"}};
  double busy = 0;
  for (const auto& stage : plan.predictions)
    for (const auto& term : stage.time_terms) {
      const auto name = section_of(term.name);
      auto found = std::find_if(pairs.begin(), pairs.end(), [&](const Pair& p) { return p.name == name; });
      if (found == pairs.end()) found = pairs.insert(pairs.end(), Pair{name});
      const double share = term.amount / static_cast<double>(plan.predictions.size());
      found->predicted += share;
      busy += share;
    }
  if (plan.pipeline_ranks() > 1) {
    pairs.push_back({"pipeline wait", std::max(0.0, plan.predicted_step_seconds - busy)});
  }
  for (auto& pair : pairs) pair.measured = measured_of(ending, pair.name);
  const bool priced =
      std::any_of(pairs.begin(), pairs.end(), [](const Pair& p) { return p.name == "data wait"; });
  if (const auto data = measured_of(ending, "data wait"); data > 0 && !priced)
    pairs.push_back({"data wait", 0, data});
  std::erase_if(pairs, [](const Pair& p) { return !(p.predicted > 0) && !(p.measured > 0); });
  pairs.insert(pairs.begin(), {"step", plan.predicted_step_seconds, ending.step_seconds});
  return pairs;
}

std::string difference(const Pair& pair) {
  if (!(pair.predicted > 0) || !(pair.measured > 0)) return "–";
  return format("{:+.1f} %", 100 * (pair.predicted / pair.measured - 1));
}

std::string table_of(const std::vector<Pair>& pairs, const plan::Plan& plan, const Ending& ending) {
  std::vector<std::vector<std::string>> rows = {{"", "predicted", "measured", "prediction is off by"}};
  for (const auto& pair : pairs)
    rows.push_back({pair.name == "step" ? "step (median)" : pair.name,
                    pair.predicted > 0 ? core::format_seconds(pair.predicted) : "–",
                    pair.measured > 0 ? core::format_seconds(pair.measured) : "–", difference(pair)});
  int64_t peak = 0;
  for (const auto& stage : plan.predictions) peak = std::max(peak, stage.memory_bytes);
  rows.push_back({"memory, fullest rank", peak > 0 ? core::format_bytes(peak) : "–",
                  ending.peak_bytes > 0 ? core::format_bytes(ending.peak_bytes) : "–",
                  difference({"", static_cast<double>(peak), static_cast<double>(ending.peak_bytes)})});
  return html_table(rows, {});
}

}  // namespace

std::string comparison_picture(const plan::Plan& plan, const Ending& ending) {
  const auto pairs = pairs_of(plan, ending);
  double most = 0;
  for (const auto& pair : pairs) most = std::max({most, pair.predicted, pair.measured});
  if (!(most > 0)) return {};
  constexpr double left = 130, width = 720, row = 38, above = 50;
  const double field = row * static_cast<double>(pairs.size());
  Svg svg("comparison", left + width + 40, above + field + 44, "Predicted and measured time of a step",
          format("Step: predicted {}, measured {}.", core::format_seconds(plan.predicted_step_seconds),
                 core::format_seconds(ending.step_seconds)));
  svg.rect({left, 12, 16, 12}, ramp(0.75), {}, "#333");
  svg.text(left + 22, 22, "predicted");
  svg.rect({left + 110, 12, 16, 12}, svg.stripes("#c25a00"), {}, "#333");
  svg.text(left + 132, 22, "measured");
  const Plot plot(
      svg, {left, above, width, field},
      {Axis::rounded(Scale::linear, 0, most), seconds_label, "time per step, mean over the ranks", 6},
      rows_by_hand());
  for (size_t i = 0; i < pairs.size(); ++i) {
    const double y = above + row * static_cast<double>(i);
    const auto& pair = pairs[i];
    svg.text(left - 8, y + row / 2 + 4, pair.name, {Anchor::end, 12});
    const auto bar = [&](double seconds, double top, const std::string& fill) {
      if (seconds > 0)
        svg.rect({left, top, plot.x(seconds) - left, 13}, fill, core::format_seconds(seconds), "#333");
    };
    bar(pair.predicted, y + 5, ramp(0.75));
    bar(pair.measured, y + 19, svg.stripes("#c25a00"));
  }
  return figure(svg.done(),
                "The step is the median step; sections are what the ranks spent on the mean, summed over the "
                "attempt and divided by its steps. Communication beside compute is in no section.") +
         table_of(pairs, plan, ending);
}

}  // namespace galvatron::report
