// A run folder, explained. Its profile and plan have pages of their own.

#include "app/run_report.hpp"
#include "app/shown.hpp"
#include "core/format.hpp"
#include "core/table.hpp"
#include "core/units.hpp"
#include "report/page.hpp"

namespace galvatron::app {

std::string shown_run(const std::string& folder) {
  const auto run = read_run(folder);
  std::string out = run.title + "\n";
  std::vector<core::Row> rows;
  for (const auto& fact : run.head) rows.push_back({fact.name, fact.value});
  out += core::table(rows, {1});
  if (!run.failure.empty()) out += "\nfailed: " + run.failure + "\n";
  if (!run.metrics.empty()) {
    const auto& last = run.metrics.back();
    out += core::format("\nstep {}: loss {:.4f}, {} per step\n", last.step, last.loss,
                        core::format_seconds(last.step_seconds));
  }
  rows = {{"time", "step", "event", ""}};
  for (const auto& event : run.events)
    rows.push_back({report::date_text(event.time), std::to_string(event.step), event.kind, event.text});
  if (rows.size() > 1) out += "\n" + core::table(rows, {2, 3});
  if (!run.ending || run.ending->sections.empty()) return out;
  rows = {{"section", "least", "mean", "most"}};
  for (const auto& row : run.ending->sections)
    if (row.most > 0)
      rows.push_back({row.name, core::format_seconds(row.least), core::format_seconds(row.mean),
                      core::format_seconds(row.most)});
  return out + "\n" + core::table(rows);
}

}  // namespace galvatron::app
