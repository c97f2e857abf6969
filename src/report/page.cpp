// Sections in the order in which a run happens. What is not known is left out; where a reader would look for
// it, a line says that it is not there.

#include "report/page.hpp"

#include <algorithm>
#include <chrono>

#include "core/format.hpp"
#include "core/units.hpp"
#include "report/html.hpp"
#include "report/pictures.hpp"
#include "report/style.hpp"

namespace galvatron::report {
namespace {

using core::format;
using Rows = std::vector<std::vector<std::string>>;

constexpr size_t most_lines = 400;      // of verdicts and events
constexpr size_t most_text = 64 << 10;  // bytes of the deck and of the search's own words

/// A section of the page and its place in the list at the top.
class Page {
 public:
  void section(std::string_view id, std::string_view title, const std::string& content) {
    if (content.empty()) return;
    links_ += format("<a href=\"#{}\">{}</a>\n", id, escaped(title));
    body_ += format("<section id=\"{}\">\n<h2>{}</h2>\n{}</section>\n", id, escaped(title), content);
  }
  const std::string& links() const { return links_; }
  const std::string& body() const { return body_; }

 private:
  std::string links_, body_;
};

std::string head_of(const RunValues& values) {
  Rows rows = {{"", ""}};
  for (const auto& fact : values.head) rows.push_back({fact.name, fact.value});
  std::string out = rows.size() > 1 ? html_table(rows, {1}) : "";
  if (!values.failure.empty()) out += paragraph(values.failure, "bad");
  return out;
}

std::string coverage_of(const RunValues& values) {
  Rows rows = {{"phase", "time allotted", "time spent", "done", "wanted", ""}};
  for (const auto& c : values.coverage)
    rows.push_back({c.phase, core::format_seconds(c.allotted_seconds), core::format_seconds(c.spent_seconds),
                    format("{}", c.done), format("{}", c.wanted), c.unit});
  return rows.size() > 1 ? html_table(rows, {5}, "What the profile's time covered") : "";
}

/// A table of one column, cut where it would be endless.
std::string lines_table(std::string_view title, const std::vector<std::string>& lines) {
  if (lines.empty()) return {};
  Rows rows = {{std::string(title)}};
  for (size_t i = 0; i < std::min(most_lines, lines.size()); ++i) rows.push_back({lines[i]});
  if (lines.size() > most_lines) rows.push_back({format("… and {} more", lines.size() - most_lines)});
  return html_table(rows, {});
}

std::string links_of(const RunValues& values) {
  if (!values.hardware) return paragraph("No profile was measured or found.", "none");
  std::string out;
  if (values.hardware->nominal) out += paragraph("These are nominal figures; nothing was measured.", "bad");
  out += link_maps(*values.hardware) + link_curves(*values.hardware);
  if (out.empty()) out = paragraph("One rank has no links.", "none");
  if (values.verdicts.empty() && !values.hardware->links.empty())
    out += paragraph("No link, node or device is slower than its peers.");
  return out + lines_table("slow ones", values.verdicts) +
         lines_table("since an earlier profile", values.link_changes) + coverage_of(values);
}

std::string lateness_of(const cost::HardwareProfile& hardware) {
  Rows rows = {{"ranks", "nodes", "computing", "late", "of it"}};
  for (const auto& [shape, curve] : hardware.lateness)
    for (const auto& point : curve.points)
      rows.push_back({std::to_string(shape.ranks), std::to_string(shape.nodes), core::format_seconds(point.x),
                      core::format_seconds(point.seconds),
                      format("{:.1f} %", 100 * point.seconds / point.x)});
  if (rows.size() == 1) return {};
  return html_table(rows, {0, 1, 2, 3, 4}, "How late the last one is when all have computed and meet");
}

std::string machine_of(const RunValues& values) {
  if (!values.hardware) return {};
  auto out = peaks_picture(*values.hardware) + interference_picture(*values.hardware) +
             lateness_of(*values.hardware) + reserve_picture(*values.hardware);
  if (values.counters.size() > 1)
    out += html_table(values.counters, {1}, "Counted per token, mean over the ranks");
  if (!values.counters_missing.empty()) out += paragraph("Not counted: " + values.counters_missing, "none");
  return out;
}

std::string plan_of(const RunValues& values) {
  if (!values.plan || !values.model) return paragraph("There is no plan.", "none");
  return plan_picture(*values.plan, *values.model);
}

std::string clipped(const std::string& text) {
  if (text.size() <= most_text) return text;
  return text.substr(0, most_text) + "\n… cut here; the file in the run folder is whole\n";
}

std::string search_of(const RunValues& values) {
  auto out = candidates_picture(values.candidates, "candidates", "The best plans of the search") +
             candidates_picture(values.restricted, "restricted", "The best plan of each simple family");
  if (!values.search_text.empty())
    out += "<details><summary>The search in its own words</summary><pre>" +
           escaped(clipped(values.search_text)) + "</pre></details>\n";
  return out;
}

std::string memory_of(const RunValues& values) {
  if (!values.plan) return {};
  const auto measured = values.ending ? values.ending->pipeline_rank_bytes : std::vector<int64_t>{};
  return memory_picture(*values.plan, values.memory_limit, measured);
}

std::string time_of(const RunValues& values) {
  std::string out;
  if (values.plan && values.ending && values.ending->step_seconds > 0)
    out += comparison_picture(*values.plan, *values.ending);
  if (values.plan) out += predicted_timeline(*values.plan);
  return out + measured_timeline(values.measured_step);
}

std::string curves_of(const RunValues& values) {
  auto out = loss_picture(values.metrics) +
             step_time_picture(values.metrics, values.plan ? values.plan->predicted_step_seconds : 0);
  if (!out.empty() && values.metrics_left_out > 0)
    out +=
        paragraph(format("{} of {} lines of metrics.jsonl are drawn, spread evenly.", values.metrics.size(),
                         values.metrics_left_out + static_cast<int64_t>(values.metrics.size())));
  return out;
}

std::string end_of(const RunValues& values) {
  if (!values.ending) return {};
  const auto& ending = *values.ending;
  double total = 0;
  for (const auto& row : ending.sections) total += row.mean;
  Rows rows = {{"section", "least", "mean", "most", "imbalance", "share"}};
  for (const auto& row : ending.sections) {
    if (!(row.most > 0)) continue;
    rows.push_back({row.name, core::format_seconds(row.least), core::format_seconds(row.mean),
                    core::format_seconds(row.most),
                    format("{:.0f} %", row.mean > 0 ? 100 * (row.most / row.mean - 1) : 0),
                    format("{:.1f} %", total > 0 ? 100 * row.mean / total : 0)});
  }
  std::string out =
      rows.size() > 1 ? html_table(rows, {}, "Where the time of the last attempt went, over its ranks") : "";
  if (ending.tokens_per_second > 0)
    out += paragraph(format("Steps {} to {}; {:.0f} tokens/s; largest process {}.", ending.resumed_from + 1,
                            ending.steps, ending.tokens_per_second, core::format_bytes(ending.peak_bytes)));
  return out;
}

std::string events_of(const RunValues& values) {
  Rows rows = {{"time", "step", "event", ""}};
  const auto count = values.events.size();
  // The beginning and the end matter most.
  const size_t half = most_lines / 2;
  for (size_t i = 0; i < count; ++i) {
    if (count > most_lines && i == half) rows.push_back({"…", "", format("{} more", count - most_lines), ""});
    if (count > most_lines && i >= half && i < count - half) continue;
    const auto& event = values.events[i];
    rows.push_back({date_text(event.time), format("{}", event.step), event.kind, event.text});
  }
  return rows.size() > 1 ? html_table(rows, {2, 3}) : "";
}

}  // namespace

std::string date_text(double time) {
  using namespace std::chrono;
  const auto at = sys_seconds(seconds(static_cast<int64_t>(time)));
  const auto day = floor<days>(at);
  const year_month_day date(day);
  const hh_mm_ss clock(at - day);
  return format("{:04}-{:02}-{:02} {:02}:{:02}:{:02} UTC", static_cast<int>(date.year()),
                static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()), clock.hours().count(),
                clock.minutes().count(), clock.seconds().count());
}

std::string page(const RunValues& values) {
  Page page;
  page.section("run", "The run", head_of(values));
  page.section("links", "Links", links_of(values));
  page.section("collectives", "Collectives", collective_curves(values.collectives));
  page.section("machine", "Machine", machine_of(values));
  page.section("plan", "Plan", plan_of(values));
  page.section("memory", "Memory", memory_of(values));
  page.section("search", "Why this plan", search_of(values));
  page.section("time", "Predicted and measured", time_of(values));
  page.section("loss", "Loss", curves_of(values));
  page.section("end", "End table", end_of(values));
  page.section("events", "Events", events_of(values));
  if (!values.deck_text.empty())
    page.section("deck", "Deck", "<pre>" + escaped(clipped(values.deck_text)) + "</pre>\n");
  return "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
         "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
         "<title>" +
         escaped(values.title) + "</title>\n<style>" + std::string(style) +
         "</style>\n</head>\n<body>\n<h1>" + escaped(values.title) +
         "</h1>\n<nav aria-label=\"sections\">\n" + page.links() + "</nav>\n<main>\n" + page.body() +
         "</main>\n</body>\n</html>\n";
}

}  // namespace galvatron::report
