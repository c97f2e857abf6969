// Loss and seconds over the steps of the run. A million steps are drawn as the least and the most of each
// pixel column, so that no spike is lost.

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
using Points = std::vector<std::pair<double, double>>;

constexpr size_t columns = 400;
constexpr Box field{80, 34, 780, 280};

/// At most four points per column: first, least, most, last, in their order.
Points thinned(const Points& points) {
  if (points.size() <= 4 * columns) return points;
  Points few;
  for (size_t c = 0; c < columns; ++c) {
    const auto from = points.begin() + static_cast<int64_t>(c * points.size() / columns);
    const auto to = points.begin() + static_cast<int64_t>((c + 1) * points.size() / columns);
    const auto less = [](const auto& a, const auto& b) { return a.second < b.second; };
    const auto [least, most] = std::minmax_element(from, to, less);
    for (const auto it : {from, std::min(least, most), std::max(least, most), to - 1})
      if (few.empty() || few.back() != *it) few.push_back(*it);
  }
  return few;
}

Points on(const Plot& plot, const Points& points) {
  Points pixels;
  for (const auto& [x, y] : points) pixels.emplace_back(plot.x(x), plot.y(y));
  return pixels;
}

Plot::Way steps_of(const std::vector<Metric>& metrics) {
  const auto last = static_cast<double>(metrics.back().step);
  return {Axis(Scale::linear, 0, std::max(1.0, last)), [](double v) { return format("{:.0f}", v); }, "step",
          8};
}

}  // namespace

std::string loss_picture(const std::vector<Metric>& metrics) {
  Points train, valid;
  Range range;
  for (const auto& m : metrics) {
    const auto step = static_cast<double>(m.step);
    if (std::isfinite(m.loss)) train.emplace_back(step, m.loss), range.add(m.loss);
    if (m.valid_loss && std::isfinite(*m.valid_loss))
      valid.emplace_back(step, *m.valid_loss), range.add(*m.valid_loss);
  }
  if (train.empty() && valid.empty()) return {};
  const bool wide = range.low > 0 && range.high > 8 * range.low;
  Svg svg(
      "loss", 900, 370, "Loss over steps",
      format("Training loss from {:.4g} to {:.4g} nats over {} steps{}.",
             train.empty() ? 0 : train.front().second, train.empty() ? 0 : train.back().second,
             metrics.back().step,
             valid.empty() ? std::string() : format(", validation {:.4g} at the end", valid.back().second)));
  const auto scale = wide ? Scale::logarithmic : Scale::linear;
  const Plot plot(
      svg, field, steps_of(metrics),
      {Axis::rounded(scale, range.low, range.high), plain_label, "mean loss of a token, nats", 6});
  svg.path(on(plot, thinned(train)), {series_colour(0), 1.5}, "training loss");
  const auto marks = on(plot, thinned(valid));
  svg.path(marks, {series_colour(1), 2, "5 3"}, "validation loss");
  if (marks.size() <= 60)
    for (const auto& [x, y] : marks) svg.dot(x, y, 3, "#fff", {}, series_colour(1));
  const double key = field.x + field.width - 150;
  svg.line(key, 46, key + 28, 46, {series_colour(0), 1.5});
  svg.text(key + 34, 50, "training");
  if (!valid.empty()) {
    svg.line(key, 64, key + 28, 64, {series_colour(1), 2, "5 3"});
    svg.text(key + 34, 68, "validation");
  }
  return figure(svg.done(), wide ? "Loss in nats, on a logarithmic axis."
                                 : "Loss in nats; the axis does not begin at zero.");
}

std::string step_time_picture(const std::vector<Metric>& metrics, double predicted_seconds) {
  Points points;
  Range range;
  range.add(0);
  for (const auto& m : metrics)
    if (std::isfinite(m.step_seconds) && m.step_seconds > 0)
      points.emplace_back(static_cast<double>(m.step), m.step_seconds), range.add(m.step_seconds);
  if (points.empty()) return {};
  range.add(predicted_seconds);
  Svg svg("step-time", 900, 370, "Seconds per step over steps",
          format("At the end {} per step{}.", core::format_seconds(points.back().second),
                 predicted_seconds > 0 ? ", predicted " + core::format_seconds(predicted_seconds) : ""));
  const Plot plot(svg, field, steps_of(metrics),
                  {Axis::rounded(Scale::linear, 0, range.high * 1.05), seconds_label,
                   "mean time of a step since the last line", 6});
  svg.path(on(plot, thinned(points)), {series_colour(0), 1.5}, "measured");
  if (points.size() <= 60)
    for (const auto& [x, y] : on(plot, points)) svg.dot(x, y, 2.5, series_colour(0));
  if (predicted_seconds > 0) {
    const double y = plot.y(predicted_seconds);
    svg.line(field.x, y, field.x + field.width, y, {series_colour(1), 2, "7 4"});
    svg.text(field.x + field.width - 4, y - 6, "predicted " + core::format_seconds(predicted_seconds),
             {Anchor::end, 11});
  }
  return figure(svg.done(), "The solid line is measured, the dashed one predicted.");
}

}  // namespace galvatron::report
