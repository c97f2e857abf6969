// The plans that the search weighed, so that one sees by how much the chosen one wins, and on what.

#include <algorithm>

#include "core/format.hpp"
#include "core/units.hpp"
#include "report/axis.hpp"
#include "report/colour.hpp"
#include "report/html.hpp"
#include "report/pictures.hpp"

namespace galvatron::report {
namespace {

using core::format;

constexpr size_t most_rows = 20;
constexpr double row = 26, left = 330, width = 540, above = 40;

/// What a trial makes of the plan: its predicted rate, scaled by predicted over measured step.
double tried_rate(const Candidate& candidate) {
  if (!(candidate.trial_seconds > 0)) return 0;
  return candidate.samples_per_second * candidate.step_seconds / candidate.trial_seconds;
}

void draw_row(Svg& svg, const Plot& plot, const Candidate& candidate, double y, double shade) {
  svg.text(left - 8, y + row / 2 + 1, fitted(candidate.outline, left - 16, 11), {Anchor::end, 11});
  if (!(candidate.samples_per_second > 0)) {
    svg.text(left + 6, y + row / 2 + 1, fitted(candidate.remark, width, 11), {Anchor::start, 11, "#555"});
    return;
  }
  const double end = plot.x(candidate.samples_per_second);
  svg.rect({left, y + 3, end - left, row - 10}, ramp(shade),
           format("{}: {:.4g} samples/s, step {}, {}", candidate.outline, candidate.samples_per_second,
                  core::format_seconds(candidate.step_seconds), core::format_bytes(candidate.memory_bytes)),
           "#333");
  const double tried = tried_rate(candidate);
  if (tried > 0)
    svg.dot(plot.x(tried), y + row / 2 - 2, 5, "#fff", format("tried: {:.4g} samples/s", tried), "#c25a00");
  svg.text(std::max(end, tried > 0 ? plot.x(tried) : end) + 10, y + row / 2 + 1,
           format("{:.4g}", candidate.samples_per_second), {Anchor::start, 11});
}

/// What wins: the fastest that was tried, else the best prediction.
size_t chosen_of(const std::vector<Candidate>& candidates) {
  const auto rate = [](const Candidate& c) { return std::pair(tried_rate(c), c.samples_per_second); };
  const auto best =
      std::max_element(candidates.begin(), candidates.end(),
                       [&](const Candidate& a, const Candidate& b) { return rate(a) < rate(b); });
  return static_cast<size_t>(best - candidates.begin());
}

std::string rows_of(const std::vector<Candidate>& candidates) {
  std::vector<std::vector<std::string>> rows = {
      {"plan", "step, predicted", "step, tried", "samples/s", "memory", "remark"}};
  for (size_t i = 0; i < std::min(most_rows, candidates.size()); ++i) {
    const auto& c = candidates[i];
    const bool there = c.samples_per_second > 0;
    rows.push_back({c.outline, there ? core::format_seconds(c.step_seconds) : "–",
                    c.trial_seconds > 0 ? core::format_seconds(c.trial_seconds) : "–",
                    there ? format("{:.4g}", c.samples_per_second) : "–",
                    there ? core::format_bytes(c.memory_bytes) : "–", c.remark});
  }
  return html_table(rows, {5});
}

}  // namespace

std::string candidates_picture(const std::vector<Candidate>& candidates, const std::string& id,
                               const std::string& title) {
  if (candidates.empty()) return {};
  const auto shown = std::min(most_rows, candidates.size());
  const auto chosen = chosen_of(candidates);
  double most = 0;
  bool tried = false;
  for (const auto& candidate : candidates) {
    most = std::max({most, candidate.samples_per_second, tried_rate(candidate)});
    tried |= candidate.trial_seconds > 0;
  }
  if (!(most > 0)) return rows_of(candidates);
  const double field = row * static_cast<double>(shown);
  Svg svg(id, left + width + 30, above + field + 44, title,
          format("{} plans as bars of predicted samples per second; the best reaches {:.4g}.",
                 candidates.size(), most));
  svg.text(10, 16, title, {Anchor::start, 13, "#111"});
  const Plot plot(svg, {left, above, width, field},
                  {Axis::rounded(Scale::linear, 0, 1.15 * most), plain_label, "samples per second", 6},
                  rows_by_hand());
  for (size_t i = 0; i < shown; ++i)
    draw_row(svg, plot, candidates[i], above + row * static_cast<double>(i), i == chosen ? 0.75 : 0.3);
  std::string caption = "Bars are predictions; longer is better; the dark one wins.";
  if (tried) caption += " Rings are what a trial of a few steps measured.";
  if (shown < candidates.size()) caption += format(" {} more are in search.txt.", candidates.size() - shown);
  return figure(svg.done(), caption) + rows_of(candidates);
}

}  // namespace galvatron::report
