// What the heat map cannot show.
#include "measure/link_report.hpp"

#include "core/format.hpp"
#include "core/units.hpp"
#include "measure/links.hpp"
#include "measure/verdicts.hpp"

namespace galvatron::measure {
namespace {

std::string shown(double value, cost::LinkFigure figure) {
  return figure == cost::LinkFigure::latency ? core::format_seconds(value)
                                             : core::format("{:.3g} GB/s", value * 1e-9);
}

std::string host_of_rank(const cost::HardwareProfile& profile, int32_t rank) {
  return host_of(profile, node_of(profile, rank));
}

void add_rows(const cost::HardwareProfile& profile, const cost::Link& link, const char* pass,
              const cost::Curve& curve, std::string& out) {
  for (const auto& p : curve.points)
    out += core::format("{},{},{},{},{},{},{:.0f},{},{:.6g},{:.6g},{:.6g},{:.6g},{:.4g},{:.6g},{:.6g}\n",
                        link.from, link.to, host_of_rank(profile, link.from), host_of_rank(profile, link.to),
                        link.path, pass, p.x, p.samples, p.minimum, p.seconds, p.p95, p.p99, p.variation,
                        p.x / p.seconds, curve.fit.at(p.x));
}

}  // namespace

std::string link_coverage_text(const cost::HardwareProfile& profile) {
  const auto& c = profile.link_coverage;
  if (profile.links.empty() || c.rounds == 0) return "";
  auto out =
      core::format("  {} of {} pairs alone, {} of {} rounds of all pairs at once; timer resolution {}\n",
                   c.inside_done + c.leaders_done + c.rest_done, c.inside + c.leaders + c.rest, c.rounds_done,
                   c.rounds, core::format_seconds(c.timer_resolution));
  for (const auto& line : left_out(c)) out += "  not all: " + line + "\n";
  return out;
}

std::vector<std::string> link_change_lines(const cost::HardwareProfile& profile) {
  if (profile.compared_with.empty()) return {};
  const auto since = "since the profile of " + profile.compared_with;
  if (profile.link_changes.empty()) return {"no link changed by more than noise " + since};
  std::vector<std::string> lines;
  for (const auto& c : profile.link_changes) {
    const bool better = (c.figure == cost::LinkFigure::latency) == (c.after < c.before);
    lines.push_back(core::format("{}: rank {} ({}) to rank {} ({}), {}: {} {} was {} {}",
                                 better ? "better" : "worse", c.from, host_of_rank(profile, c.from), c.to,
                                 host_of_rank(profile, c.to), c.path,
                                 c.figure == cost::LinkFigure::latency ? "latency" : "bandwidth",
                                 shown(c.after, c.figure), shown(c.before, c.figure), since));
  }
  return lines;
}

std::string link_changes_text(const cost::HardwareProfile& profile) {
  std::string out;
  for (const auto& line : link_change_lines(profile)) out += "  " + line + "\n";
  return out;
}

std::string links_csv(const cost::HardwareProfile& profile) {
  std::string out =
      "from,to,from_host,to_host,path,pass,bytes,samples,minimum_s,median_s,p95_s,p99_s,variation,"
      "bytes_per_second,fit_s\n";
  for (const auto& link : profile.links) {
    add_rows(profile, link, "isolated", link.isolated, out);
    add_rows(profile, link, "loaded", link.loaded, out);
  }
  return out;
}

}  // namespace galvatron::measure
