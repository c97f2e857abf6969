// Everything comes from the profile, so a file shows the same as the run that wrote it.
#include "measure/profile_report.hpp"

#include <algorithm>
#include <vector>

#include "core/format.hpp"
#include "core/table.hpp"
#include "core/units.hpp"
#include "measure/budget.hpp"
#include "measure/report.hpp"
#include "measure/statistics.hpp"

namespace galvatron::measure {
namespace {

/// "  a longer name          1.20 ns per parameter" of the longest row of a step; empty when not measured.
std::string cost_line(const cost::ModelProfile& profile, const std::string& step, const char* name,
                      const char* each) {
  std::string out;
  for (const auto& [key, curve] : profile.steps) {
    if (!key.starts_with(step + " ") || !key.ends_with(" flat") || curve.points.empty()) continue;
    const auto& last = curve.points.back();
    out += core::format("  {:<24} {:>10} per {}, of {:.0f} at once ({})\n", name,
                        core::format_seconds(last.seconds / std::max(last.x, 1.0)), each, last.x, key);
  }
  return out;
}

std::string slow_devices(const cost::ModelProfile& profile) {
  std::string out;
  for (const auto& o : slow_ones(profile.rank_seconds, Worse::higher))
    out += core::format("  slow device: rank {}: its layer steps take {:.2f} times the median\n", o.index,
                        o.value / o.median);
  return out;
}

}  // namespace

std::string interference_table(const cost::HardwareProfile& profile) {
  std::vector<core::Row> rows = {
      {"collective", "ranks", "nodes", "size", "product × alone", "collective × alone"}};
  for (const auto& row : profile.interference)
    rows.push_back({std::string(core::name_of(row.kind)), std::to_string(row.shape.ranks),
                    std::to_string(row.shape.nodes), core::format_bytes(static_cast<int64_t>(row.bytes)),
                    core::format("{:.2f}", row.compute), core::format("{:.2f}", row.collective)});
  return core::table(rows);
}

std::string lateness_table(const cost::HardwareProfile& profile) {
  std::vector<core::Row> rows = {{"ranks", "nodes", "computing", "late", "of it"}};
  for (const auto& [shape, curve] : profile.lateness)
    for (const auto& point : curve.points)
      rows.push_back({std::to_string(shape.ranks), std::to_string(shape.nodes), core::format_seconds(point.x),
                      core::format_seconds(point.seconds),
                      core::format("{:.1f} %", 100 * point.seconds / point.x)});
  return core::table(rows);
}

std::string cost_lines(const cost::ModelProfile& profile) {
  auto out = cost_line(profile, "optimizer", "optimizer", "parameter") +
             cost_line(profile, "sum_of_squares", "gradient norm, for clip", "parameter");
  return out + core::format("  {:<24} {:>10}\n", "loader",
                            profile.loader_seconds_per_token > 0
                                ? core::format_seconds(profile.loader_seconds_per_token) + " per token"
                                : std::string("not measured"));
}

std::vector<std::vector<std::string>> counter_rows(const cost::ModelProfile& profile) {
  std::vector<std::string> events;
  for (const auto& row : profile.counters)
    if (std::find(events.begin(), events.end(), row.event) == events.end()) events.push_back(row.event);
  std::vector<std::vector<std::string>> rows = {{"layer", "phase"}};
  for (const auto& event : events) rows.front().push_back(event);
  for (const auto& reading : profile.counters) {
    if (rows.back()[0] != reading.layer || rows.back()[1] != reading.phase) {
      rows.push_back({reading.layer, reading.phase});
      rows.back().resize(rows.front().size());
    }
    const auto column = std::find(events.begin(), events.end(), reading.event) - events.begin();
    rows.back()[static_cast<size_t>(column) + 2] = core::format("{:.4g}", reading.per_token);
  }
  return rows;
}

std::string counter_table(const cost::ModelProfile& profile) {
  auto out =
      profile.counters.empty() ? std::string("  nothing counted\n") : core::table(counter_rows(profile));
  if (!profile.counters_missing.empty()) out += "  missing: " + profile.counters_missing + "\n";
  return out;
}

std::string step_table(const cost::ModelProfile& profile) {
  std::vector<core::Row> rows = {{"step", "points", "fewest rows", "most rows"}};
  const auto end = [](const cost::Curve::Point& p) {
    return core::format("{:.0f}: {}", p.x, core::format_seconds(p.seconds));
  };
  for (const auto& [key, curve] : profile.steps)
    if (!curve.points.empty())
      rows.push_back(
          {key, std::to_string(curve.points.size()), end(curve.points.front()), end(curve.points.back())});
  return core::table(rows);
}

std::string profile_report(const cost::Profile& profile) {
  auto text = hardware_report(profile.hardware) + slow_devices(profile.model);
  if (!profile.hardware.interference.empty())
    text += "matrix products and collectives at the same time\n" + interference_table(profile.hardware);
  if (!profile.hardware.lateness.empty())
    text += "how late the last one is when all have computed and meet\n" + lateness_table(profile.hardware);
  text += "once a step\n" + cost_lines(profile.model);
  text += "counted per token, mean over the ranks\n" + counter_table(profile.model);
  if (!profile.coverage.empty()) text += "what the budget covered\n" + coverage_text(profile.coverage);
  if (!profile.complete) text += "stopped before the end: the next start goes on from here\n";
  return text;
}

}  // namespace galvatron::measure
