// Curves of links and collectives over the size of a message, on logarithmic axes.

#include <algorithm>
#include <cmath>
#include <map>

#include "core/format.hpp"
#include "report/axis.hpp"
#include "report/colour.hpp"
#include "report/html.hpp"
#include "report/pictures.hpp"

namespace galvatron::report {
namespace {

using core::format;

constexpr size_t most_single_links = 24;
constexpr int most_shapes = 6;

/// What a logarithmic axis has a place for.
void add_positive(Range& range, double value) {
  if (value > 0 && std::isfinite(value)) range.add(value);
}

/// A curve of the picture of links.
struct Tier {
  std::string name;
  const cost::Curve* curve;
  std::vector<const cost::Link*> links;
};

std::vector<Tier> tiers_of(const cost::HardwareProfile& hardware) {
  std::vector<Tier> tiers = {{"same node", &hardware.transfer_same_node, {}},
                             {"across nodes", &hardware.transfer_across, {}}};
  for (const auto& link : hardware.links) {
    auto& tier = tiers[cost::node_of(hardware, link.from) == cost::node_of(hardware, link.to) ? 0 : 1];
    if (!link.isolated.points.empty()) tier.links.push_back(&link);
  }
  std::erase_if(tiers, [](const Tier& tier) { return tier.curve->points.empty() && tier.links.empty(); });
  // A few of the links, evenly chosen.
  for (auto& tier : tiers) {
    const auto step = (tier.links.size() + most_single_links - 1) / most_single_links;
    for (size_t i = 0; step > 1 && i * step < tier.links.size(); ++i) tier.links[i] = tier.links[i * step];
    if (step > 1) tier.links.resize((tier.links.size() + step - 1) / step);
  }
  return tiers;
}

void add(const cost::Curve& curve, Range& sizes, Range& seconds) {
  for (const auto& point : curve.points) {
    add_positive(sizes, point.x);
    for (const double value : {point.seconds, point.p95, point.minimum}) add_positive(seconds, value);
  }
}

std::vector<std::pair<double, double>> line_of(const Plot& plot, const cost::Curve& curve) {
  std::vector<std::pair<double, double>> points;
  for (const auto& point : curve.points)
    if (point.x > 0 && point.seconds > 0) points.emplace_back(plot.x(point.x), plot.y(point.seconds));
  return points;
}

/// The fit at every pixel column or so: bends are where segments meet.
std::vector<std::pair<double, double>> fit_of(const Plot& plot, const cost::Curve& curve) {
  std::vector<std::pair<double, double>> points;
  if (curve.fit.segments.empty() || curve.points.empty()) return points;
  const double low = std::max(1.0, curve.points.front().x), high = curve.points.back().x;
  constexpr int steps = 80;
  for (int i = 0; i <= steps; ++i) {
    const double x = low * std::pow(high / low, static_cast<double>(i) / steps);
    points.emplace_back(plot.x(x), plot.y(curve.fit.at(x)));
  }
  return points;
}

std::string fit_text(const std::string& name, const cost::Curve& curve) {
  std::vector<std::string> parts;
  for (const auto& segment : curve.fit.segments)
    parts.push_back(format("from {}: {} + bytes / {} GB/s", bytes_label(segment.first),
                           seconds_label(segment.latency_seconds),
                           gigabytes_label(1 / segment.seconds_per_x)));
  return format("{}: {}; residual {:.1f} %", name, core::join(parts, "; "),
                100 * curve.fit.relative_residual);
}

void draw_tier(Svg& svg, const Plot& plot, const Tier& tier, int index) {
  const auto colour = series_colour(index);
  for (const auto* link : tier.links) svg.path(line_of(plot, link->isolated), {colour + "55", 0.8});
  svg.path(fit_of(plot, *tier.curve), {colour, 2, series_dash(index)});
  for (const auto& point : tier.curve->points) {
    if (!(point.x > 0)) continue;
    if (point.p95 > point.seconds && point.minimum > 0)
      svg.line(plot.x(point.x), plot.y(point.minimum), plot.x(point.x), plot.y(point.p95), {colour, 1});
    const auto tip = format("{}, {}: median {}, {} samples", tier.name, bytes_label(point.x),
                            seconds_label(point.seconds), point.samples);
    svg.dot(plot.x(point.x), plot.y(point.seconds), 3, index == 0 ? colour : "#fff", tip, colour);
  }
  if (tier.curve->fit.segments.empty())
    svg.path(line_of(plot, *tier.curve), {colour, 1.5, series_dash(index)});
}

void draw_key(Svg& svg, double x, double y, const std::string& name, int index) {
  svg.line(x, y - 4, x + 28, y - 4, {series_colour(index), 2, series_dash(index)});
  svg.text(x + 34, y, name);
}

/// Collectives of one name.
using Group = std::vector<const Collective*>;

std::string collective_panel(const std::string& name, const Group& group, const std::string& id) {
  Range sizes, rates;
  for (const auto* c : group)
    for (const auto& point : c->curve.points) {
      add_positive(sizes, point.x);
      if (point.seconds > 0) add_positive(rates, c->bus_factor * point.x / point.seconds);
    }
  if (!sizes.any() || !rates.any()) return {};
  const auto shown = std::min<size_t>(group.size(), most_shapes);
  const double width = 430, key = 18.0 * static_cast<double>((shown + 1) / 2);
  Svg svg(id, width, 280 + key, name + ": bus bandwidth",
          format("{} group shapes; up to {} GB/s.", group.size(), gigabytes_label(rates.high)));
  svg.text(10, 16, name, {Anchor::start, 13, "#111"});
  const Plot plot(
      svg, {60, 44, width - 80, 190},
      {Axis(Scale::logarithmic, sizes.low, sizes.high), bytes_label, "bytes of the whole tensor", 6, 2},
      {Axis::rounded(Scale::logarithmic, rates.low, rates.high), gigabytes_label, "bus bandwidth, GB/s", 5});
  for (size_t i = 0; i < shown; ++i) {
    const auto index = static_cast<int>(i);
    std::vector<std::pair<double, double>> points;
    for (const auto& p : group[i]->curve.points) {
      if (!(p.x > 0 && p.seconds > 0)) continue;
      points.emplace_back(plot.x(p.x), plot.y(group[i]->bus_factor * p.x / p.seconds));
      svg.dot(points.back().first, points.back().second, 2.2, series_colour(index),
              format("{}, {}: {}", group[i]->shape, bytes_label(p.x), seconds_label(p.seconds)));
    }
    svg.path(points, {series_colour(index), 1.6, series_dash(index)});
    draw_key(svg, 20 + 205 * static_cast<double>(i % 2), 290 + 18 * static_cast<double>(i / 2),
             group[i]->shape, index);
  }
  return svg.done();
}

}  // namespace

std::string link_curves(const cost::HardwareProfile& hardware) {
  const auto tiers = tiers_of(hardware);
  Range sizes, seconds;
  for (const auto& tier : tiers) {
    add(*tier.curve, sizes, seconds);
    for (const auto* link : tier.links) add(link->isolated, sizes, seconds);
  }
  if (!sizes.any() || !seconds.any()) return {};
  Svg svg("link-curves", 900, 400, "Time of a message over its size",
          "One curve per tier of links, on logarithmic axes, with the fitted lines.");
  const Plot plot(svg, {80, 30, 790, 310},
                  {Axis(Scale::logarithmic, sizes.low, sizes.high), bytes_label, "bytes", 12, 2},
                  {Axis::rounded(Scale::logarithmic, seconds.low, seconds.high), seconds_label,
                   "time of one message", 8});
  std::vector<std::string> fits;
  for (size_t i = 0; i < tiers.size(); ++i) {
    draw_tier(svg, plot, tiers[i], static_cast<int>(i));
    draw_key(svg, 100, 52 + 18 * static_cast<double>(i), tiers[i].name, static_cast<int>(i));
    if (!tiers[i].curve->fit.segments.empty()) fits.push_back(fit_text(tiers[i].name, *tiers[i].curve));
  }
  const bool singles =
      std::any_of(tiers.begin(), tiers.end(), [](const Tier& t) { return !t.links.empty(); });
  std::string caption =
      "Dots are medians while all pairs of a round talk, bars reach from the minimum to the 95th percentile.";
  if (singles) caption += " Thin lines are single pairs that talk alone.";
  if (!fits.empty()) caption += " Thick lines are fits. " + core::join(fits, ". ") + ".";
  return figure(svg.done(), caption);
}

std::string collective_curves(const std::vector<Collective>& collectives) {
  std::map<std::string, Group> groups;
  for (const auto& collective : collectives)
    if (!collective.curve.points.empty()) groups[collective.name].push_back(&collective);
  std::string panels;
  size_t left_out = 0, number = 0;
  for (const auto& [name, group] : groups) {
    panels += collective_panel(name, group, format("collective-{}", number++));
    if (group.size() > most_shapes) left_out += group.size() - most_shapes;
  }
  if (panels.empty()) return {};
  return figure(
      "<div class=\"row\">\n" + panels + "</div>\n",
      format("Bus bandwidth: what an ideal link would need to carry, so that collectives and groups "
             "compare. Disjoint groups of one shape talk at the same time.{}",
             left_out > 0 ? format(" {} more shapes are in profile.h5.", left_out) : ""));
}

}  // namespace galvatron::report
