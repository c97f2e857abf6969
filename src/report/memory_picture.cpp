// Where the bytes of each pipeline rank go, against what a rank may use.

#include <algorithm>
#include <map>

#include "core/format.hpp"
#include "core/units.hpp"
#include "report/axis.hpp"
#include "report/colour.hpp"
#include "report/html.hpp"
#include "report/pictures.hpp"

namespace galvatron::report {
namespace {

using core::format;

constexpr size_t most_rows = 32;
constexpr double left = 110, width = 760, row = 30;

/// Terms in the order of the cost model, only those that any rank has.
std::vector<std::string> terms_of(const plan::Plan& plan) {
  std::vector<std::string> names;
  for (const auto& stage : plan.predictions)
    for (const auto& term : stage.memory_terms)
      if (term.amount > 0 && std::find(names.begin(), names.end(), term.name) == names.end())
        names.push_back(term.name);
  return names;
}

/// Even terms are plain, odd ones striped, so that neighbours differ in more than shade.
std::string fill_of(Svg& svg, size_t term, size_t terms) {
  const double t =
      0.12 + 0.8 * static_cast<double>(term) / static_cast<double>(std::max<size_t>(1, terms - 1));
  return term % 2 == 0 ? ramp(t) : svg.stripes(ramp(t));
}

double key_width(const std::string& name) {
  return width_of(name) + 38;
}

/// The terms with their patterns, in lines.
void draw_key(Svg& svg, double y, const std::vector<std::string>& names) {
  double x = left;
  for (size_t i = 0; i < names.size(); ++i) {
    if (x + key_width(names[i]) > left + width) x = left, y += 20;
    svg.rect({x, y - 10, 16, 12}, fill_of(svg, i, names.size()), {}, "#333");
    svg.text(x + 21, y, names[i]);
    x += key_width(names[i]);
  }
}

/// Pipeline ranks to show: all, or the fullest.
std::vector<size_t> shown_of(const plan::Plan& plan) {
  std::vector<size_t> ranks(plan.predictions.size());
  for (size_t i = 0; i < ranks.size(); ++i) ranks[i] = i;
  if (ranks.size() <= most_rows) return ranks;
  std::stable_sort(ranks.begin(), ranks.end(), [&](size_t a, size_t b) {
    return plan.predictions[a].memory_bytes > plan.predictions[b].memory_bytes;
  });
  ranks.resize(most_rows);
  std::sort(ranks.begin(), ranks.end());
  return ranks;
}

/// Bars on an axis that counts in a binary unit.
struct Drawing {
  Svg& svg;
  const Plot& plot;
  double unit;
  const std::vector<std::string>& names;

  double x(double bytes) const { return plot.x(bytes / unit); }
};

void draw_row(const Drawing& d, const plan::StagePrediction& stage, double y, int64_t measured) {
  double at = 0;
  for (const auto& term : stage.memory_terms) {
    if (!(term.amount > 0)) continue;
    const auto index =
        static_cast<size_t>(std::find(d.names.begin(), d.names.end(), term.name) - d.names.begin());
    const double from = d.x(at), to = d.x(at + term.amount);
    d.svg.rect({from, y, std::max(0.3, to - from), row - 10}, fill_of(d.svg, index, d.names.size()),
               format("{}: {}", term.name, core::format_bytes(static_cast<int64_t>(term.amount))), "#333");
    at += term.amount;
  }
  double end = d.x(at);
  if (measured > 0) {
    const double mark = d.x(static_cast<double>(measured));
    d.svg.line(mark, y - 3, mark, y + row - 7, {"#c25a00", 3});
    end = std::max(end, mark);
  }
  d.svg.text(end + 6, y + row / 2, core::format_bytes(stage.memory_bytes), {Anchor::start, 11});
}

/// The unit that the axis counts in.
std::pair<double, std::string> unit_of(double bytes) {
  if (bytes >= static_cast<double>(core::gib)) return {static_cast<double>(core::gib), "GiB"};
  if (bytes >= static_cast<double>(core::mib)) return {static_cast<double>(core::mib), "MiB"};
  return {static_cast<double>(core::kib), "KiB"};
}

std::string caption_of(size_t shown, size_t all, bool marks, int64_t far_limit) {
  std::string caption = "Predicted memory of the fullest member of each pipeline rank, by term.";
  if (marks) caption += " The orange mark is the largest process that was measured.";
  if (far_limit > 0)
    caption += format(" A rank may use {}, beyond the right edge.", core::format_bytes(far_limit));
  if (shown < all) caption += format(" The {} fullest of {} are shown.", shown, all);
  return caption;
}

}  // namespace

std::string memory_picture(const plan::Plan& plan, int64_t limit, const std::vector<int64_t>& measured) {
  if (plan.predictions.empty()) return {};
  const auto names = terms_of(plan);
  const auto ranks = shown_of(plan);
  double most = 0;
  for (const auto& stage : plan.predictions) most = std::max(most, static_cast<double>(stage.memory_bytes));
  for (const auto bytes : measured) most = std::max(most, static_cast<double>(bytes));
  const bool far = static_cast<double>(limit) > 4 * most;
  const double high = std::max(most * 1.12, far ? 0.0 : static_cast<double>(limit));
  const double above = limit > 0 && !far ? 46 : 14;
  const auto [unit, unit_name] = unit_of(high);
  const double field = row * static_cast<double>(ranks.size());
  Svg svg("memory", left + width + 30, above + field + 100, "Memory of each pipeline rank",
          format("Predicted bytes by term, as stacked bars; the fullest needs {}{}.",
                 core::format_bytes(static_cast<int64_t>(most)),
                 limit > 0 ? ", a rank may use " + core::format_bytes(limit) : ""));
  const Plot plot(svg, {left, above, width, field},
                  {Axis::rounded(Scale::linear, 0, high / unit), plain_label, unit_name + " per rank", 6},
                  rows_by_hand());
  const Drawing drawing{svg, plot, unit, names};
  for (size_t i = 0; i < ranks.size(); ++i) {
    const double y = above + row * static_cast<double>(i) + 5;
    svg.text(left - 8, y + row / 2 - 1, format("pipeline rank {}", ranks[i]), {Anchor::end, 11});
    draw_row(drawing, plan.predictions[ranks[i]], y, ranks[i] < measured.size() ? measured[ranks[i]] : 0);
  }
  if (limit > 0 && !far) {
    const double at = drawing.x(static_cast<double>(limit));
    svg.line(at, above - 8, at, above + field, {"#111", 2, "6 3"});
    svg.text(at, above - 12, "limit " + core::format_bytes(limit), {Anchor::end, 11});
  }
  draw_key(svg, above + field + 62, names);
  return figure(svg.done(),
                caption_of(ranks.size(), plan.predictions.size(), !measured.empty(), far ? limit : 0));
}

}  // namespace galvatron::report
