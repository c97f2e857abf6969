// One step of the pipeline, a row per rank: forwards light, backwards dark, what happens once a step striped.

#include <algorithm>
#include <cmath>

#include "core/format.hpp"
#include "core/units.hpp"
#include "cost/simulator.hpp"
#include "report/axis.hpp"
#include "report/colour.hpp"
#include "report/html.hpp"
#include "report/pictures.hpp"

namespace galvatron::report {
namespace {

using core::format;

constexpr size_t most_rows = 32;
constexpr size_t most_bars_per_row = 400;
constexpr double left = 120, width = 760, above = 40;

const char* name_of(BarKind kind) {
  switch (kind) {
    case BarKind::forward:
      return "forward";
    case BarKind::backward:
      return "backward";
    case BarKind::once:
      return "once a step";
  }
  return "";
}

std::string fill_of(Svg& svg, BarKind kind) {
  switch (kind) {
    case BarKind::forward:
      return ramp(0.25);
    case BarKind::backward:
      return ramp(0.8);
    case BarKind::once:
      return svg.stripes("#555555");
  }
  return "#ccc";
}

/// Bars that touch or nearly touch and are alike become one, with growing tolerance, until few enough are
/// left.
std::vector<Bar> thinned(std::vector<Bar> bars, double span) {
  for (double gap = span / 2000; bars.size() > most_bars_per_row; gap *= 2) {
    std::vector<Bar> merged;
    for (const auto& bar : bars) {
      const bool small = bar.end - bar.begin < 4 * gap;
      if (!merged.empty() && (merged.back().kind == bar.kind || small) &&
          bar.begin - merged.back().end <= gap) {
        merged.back().end = bar.end;
        merged.back().micro = -1;
      } else {
        merged.push_back(bar);
      }
    }
    bars = std::move(merged);
  }
  return bars;
}

void draw_row(Svg& svg, const Plot& plot, const TimelineRow& row, double y, double height, double span) {
  for (const auto& bar : thinned(row.bars, span)) {
    const double from = plot.x(bar.begin), to = plot.x(bar.end);
    const auto what = bar.micro >= 0 ? format("{} of micro-batch {}", name_of(bar.kind), bar.micro)
                                     : std::string(name_of(bar.kind));
    svg.rect({from, y, std::max(0.3, to - from), height}, fill_of(svg, bar.kind),
             format("{}: {} … {}", what, seconds_label(bar.begin), seconds_label(bar.end)),
             to - from > 3 ? "#333" : "");
    const auto number = format("{}", bar.micro);
    if (bar.micro >= 0 && to - from > width_of(number, 10) + 3 && height >= 12)
      svg.text((from + to) / 2, y + height / 2 + 4, number,
               {Anchor::middle, 10, bar.kind == BarKind::forward ? "#111" : "#fff"});
  }
}

void draw_key(Svg& svg) {
  double x = left;
  for (const auto kind : {BarKind::forward, BarKind::backward, BarKind::once}) {
    svg.rect({x, 10, 16, 12}, fill_of(svg, kind), {}, "#333");
    svg.text(x + 22, 20, name_of(kind));
    x += 130;
  }
}

std::string draw(const std::vector<TimelineRow>& rows, const std::string& id, const std::string& title) {
  double span = 0;
  for (const auto& row : rows)
    for (const auto& bar : row.bars) span = std::max(span, bar.end);
  if (!(span > 0)) return {};
  const double height = rows.size() > 12 ? 14 : 22, pitch = height + 6;
  const double field = pitch * static_cast<double>(rows.size());
  Svg svg(id, left + width + 30, above + field + 44, title,
          format("{} rows; the step takes {}. Gaps are waits.", rows.size(), core::format_seconds(span)));
  draw_key(svg);
  const Plot plot(svg, {left, above, width, field},
                  {Axis(Scale::linear, 0, span), seconds_label, "time since the beginning of the step", 7},
                  rows_by_hand());
  for (size_t i = 0; i < rows.size(); ++i) {
    const double y = above + pitch * static_cast<double>(i) + 3;
    svg.text(left - 8, y + height / 2 + 4, fitted(rows[i].name, left - 10, 11), {Anchor::end, 11});
    draw_row(svg, plot, rows[i], y, height, span);
  }
  return svg.done();
}

/// Rows to show: all, or evenly chosen ones with both ends.
std::vector<TimelineRow> shown_of(const std::vector<TimelineRow>& rows) {
  if (rows.size() <= most_rows) return rows;
  std::vector<TimelineRow> few;
  for (size_t i = 0; i < most_rows; ++i) few.push_back(rows[i * (rows.size() - 1) / (most_rows - 1)]);
  return few;
}

std::string left_out(size_t shown, size_t all, const char* what) {
  return shown == all ? std::string() : format(" {} of {} {} are drawn, evenly chosen.", shown, all, what);
}

/// Lanes of the plan with the price of each pipeline rank, its stages alike.
std::vector<TimelineRow> simulated(const plan::Plan& plan) {
  const auto shape = plan.pipeline();
  std::vector<cost::StageTimes> times;
  for (size_t stage = 0; stage < plan.stages.size(); ++stage) {
    const auto& p = plan.predictions[stage % plan.predictions.size()];
    const auto chunks = static_cast<double>(plan.virtual_stages);
    times.push_back(
        {p.forward_seconds / chunks, p.backward_seconds / chunks, p.step_seconds / chunks, 0, 0, 0});
  }
  const auto simulation = cost::simulate(plan::make_schedule(plan.schedule, shape), times);
  std::vector<TimelineRow> rows;
  for (size_t rank = 0; rank < simulation.timeline.size(); ++rank) {
    rows.push_back({format("pipeline rank {}", rank), {}});
    auto& bars = rows.back().bars;
    for (const auto& interval : simulation.timeline[rank])
      bars.push_back(
          {interval.action.kind == plan::ActionKind::forward ? BarKind::forward : BarKind::backward,
           interval.action.micro, interval.begin, interval.end});
    const double end = bars.empty() ? 0 : bars.back().end;
    bars.push_back({BarKind::once, -1, end, end + plan.predictions[rank].step_seconds});
  }
  return rows;
}

}  // namespace

std::string predicted_timeline(const plan::Plan& plan) {
  constexpr int64_t most_actions = int64_t{1} << 20;
  const bool priced = !plan.predictions.empty() && plan.predictions.front().forward_seconds > 0;
  if (!priced || plan::illegal_reason(plan.schedule, plan.pipeline())) return {};
  if (2 * plan.microbatches * static_cast<int64_t>(plan.stages.size()) > most_actions)
    return paragraph("The schedule has too many actions for a picture of the predicted step.");
  const auto all = simulated(plan);
  const auto rows = shown_of(all);
  const auto drawn = draw(rows, "timeline-predicted", "One step as predicted");
  if (drawn.empty()) return {};
  return figure(
      drawn,
      format("Predicted: the schedule {} with the times of the plan, without the way of messages between "
             "stages. Numbers are micro-batches.{}",
             plan::name_of(plan.schedule), left_out(rows.size(), all.size(), "pipeline ranks")));
}

std::string measured_timeline(const std::vector<TimelineRow>& all) {
  const auto rows = shown_of(all);
  const auto drawn = draw(rows, "timeline-measured", "One step as measured");
  if (drawn.empty()) return {};
  return figure(drawn,
                "Measured: the last step of trace.json, on one clock. trace.json shows the layers and "
                "messages inside." +
                    left_out(rows.size(), all.size(), "ranks"));
}

}  // namespace galvatron::report
