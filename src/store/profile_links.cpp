// Links of profile.h5: one row per ordered pair of ranks and path, a curve per row and pass with the lines
// fitted to it, how much of the map there is, what changed in it, and the curves of one message per tier.
#include <array>
#include <utility>

#include "store/profile_columns.hpp"
#include "store/profile_parts.hpp"

namespace galvatron::store::profile {
namespace {

using cost::Link;

template <typename Get>
void write_seconds(hid_t group, const std::vector<Link>& links, const char* name, Get get, const char* unit,
                   const char* meaning) {
  h5::write_column(group, name, column<double>(links, get), unit, meaning);
}

/// One row per curve that has points; `fit` holds the segments, end to end as the curves are.
void write_fits(hid_t group, const Curves& curves) {
  Runs<cost::FitSegment> runs;
  std::vector<double> residuals;
  for (const auto& curve : curves) {
    runs.add(curve.fit.segments);
    auto own = curve.fit.residuals;
    own.resize(curve.points.size());
    residuals.insert(residuals.end(), own.begin(), own.end());
  }
  const auto& [first, segments] = runs;
  using Segment = cost::FitSegment;
  const auto fit = h5::create_group(group, "fit");
  const auto id = fit.get();
  h5::write_column(id, "first", first, "segments", "curve i has the segments first[i] to first[i + 1]");
  h5::write_column(id, "from_bytes", column<double>(segments, [](const Segment& s) { return s.first; }), "B",
                   "where the segment begins; it holds up to the next one");
  h5::write_column(id, "latency_seconds",
                   column<double>(segments, [](const Segment& s) { return s.latency_seconds; }), "s",
                   "a of a + b bytes");
  h5::write_column(id, "seconds_per_byte",
                   column<double>(segments, [](const Segment& s) { return s.seconds_per_x; }), "s/B",
                   "b of a + b bytes");
  h5::write_column(id, "residual", residuals, "1",
                   "(fit - measured) / measured, one per point of the curves");
  h5::write_column(id, "relative_residual",
                   column<double>(curves, [](const cost::Curve& c) { return c.fit.relative_residual; }), "1",
                   "root mean square of them, one per curve");
}

void read_fits(hid_t group, Curves& curves) {
  const auto fit = open_group(group, "fit");
  const auto id = fit.get();
  const auto first = h5::read_integers(id, "first");
  const auto from = h5::read_numbers(id, "from_bytes"), latency = h5::read_numbers(id, "latency_seconds");
  const auto rate = h5::read_numbers(id, "seconds_per_byte"), residuals = h5::read_numbers(id, "residual");
  const auto overall = h5::read_numbers(id, "relative_residual");
  require_runs(first, curves.size(), from.size());
  size_t points = 0;
  for (const auto& curve : curves) points += curve.points.size();
  require_rows("fits", from.size(), {latency.size(), rate.size()});
  require_rows("residuals", points, {residuals.size()});
  require_rows("fits of curves", curves.size(), {overall.size()});
  size_t at = 0;
  for (size_t c = 0; c < curves.size(); ++c) {
    auto& curve = curves[c];
    for (auto i = static_cast<size_t>(first[c]); i < static_cast<size_t>(first[c + 1]); ++i)
      curve.fit.segments.push_back({from[i], latency[i], rate[i]});
    curve.fit.relative_residual = overall[c];
    const size_t end = at + curve.points.size();
    if (!curve.fit.segments.empty())
      curve.fit.residuals.assign(residuals.begin() + static_cast<int64_t>(at),
                                 residuals.begin() + static_cast<int64_t>(end));
    at = end;
  }
}

void write_pass(hid_t links_group, const char* name, const std::vector<Link>& links,
                cost::Curve Link::*pass) {
  Curves curves;
  for (const auto& link : links) curves.push_back(link.*pass);
  const auto group = h5::create_group(links_group, name);
  write_curves(group.get(), curves, "B", "one message, one way; curve i is of row i of the links");
  write_fits(group.get(), curves);
}

void read_pass(hid_t links_group, const char* name, std::vector<Link>& links, cost::Curve Link::*pass) {
  if (!h5::has(links_group, name)) return;
  const auto group = open_group(links_group, name);
  auto curves = read_curves(group.get(), links.size());
  read_fits(group.get(), curves);
  for (size_t i = 0; i < links.size(); ++i) links[i].*pass = std::move(curves[i]);
}

void write_link_rows(hid_t parent, const std::vector<Link>& links) {
  const auto group = h5::create_group(parent, "links");
  const auto id = group.get();
  h5::write_column(id, "from", column<int64_t>(links, [](const Link& l) { return l.from; }), "rank",
                   "sender");
  h5::write_column(id, "to", column<int64_t>(links, [](const Link& l) { return l.to; }), "rank", "receiver");
  h5::write_column(id, "path", texts(links, [](const Link& l) { return l.path; }),
                   "by which way the bytes travel");
  write_seconds(
      id, links, "latency_seconds", [](const Link& l) { return l.latency_seconds; }, "s",
      "a of the one line a + bytes / b through all sizes");
  write_seconds(
      id, links, "bytes_per_second", [](const Link& l) { return l.bytes_per_second; }, "B/s",
      "b of that line, nobody else talking");
  write_seconds(
      id, links, "loaded_bytes_per_second", [](const Link& l) { return l.loaded_bytes_per_second; }, "B/s",
      "while all pairs of the round talk");
  write_pass(id, "isolated", links, &Link::isolated);
  write_pass(id, "loaded", links, &Link::loaded);
}

std::vector<Link> read_link_rows(hid_t parent) {
  const auto group = open_group(parent, "links");
  const auto id = group.get();
  const auto from = h5::read_integers(id, "from"), to = h5::read_integers(id, "to");
  const auto latency = h5::read_numbers(id, "latency_seconds");
  const auto alone = h5::read_numbers(id, "bytes_per_second");
  const auto loaded = h5::read_numbers(id, "loaded_bytes_per_second");
  const auto paths =
      h5::has(id, "path") ? h5::read_texts(id, "path") : std::vector<std::string>(from.size(), Link{}.path);
  require_rows("links", from.size(), {to.size(), latency.size(), alone.size(), loaded.size(), paths.size()});
  std::vector<Link> links(from.size());
  for (size_t i = 0; i < from.size(); ++i)
    links[i] = {static_cast<int32_t>(from[i]),
                static_cast<int32_t>(to[i]),
                latency[i],
                alone[i],
                loaded[i],
                paths[i],
                {},
                {}};
  read_pass(id, "isolated", links, &Link::isolated);
  read_pass(id, "loaded", links, &Link::loaded);
  return links;
}

struct CoverageField {
  const char* name;
  int64_t cost::LinkCoverage::*field;
};

constexpr std::array coverage_fields = {
    CoverageField{"inside", &cost::LinkCoverage::inside},
    CoverageField{"inside_done", &cost::LinkCoverage::inside_done},
    CoverageField{"leaders", &cost::LinkCoverage::leaders},
    CoverageField{"leaders_done", &cost::LinkCoverage::leaders_done},
    CoverageField{"rest", &cost::LinkCoverage::rest},
    CoverageField{"rest_done", &cost::LinkCoverage::rest_done},
    CoverageField{"rounds", &cost::LinkCoverage::rounds},
    CoverageField{"rounds_done", &cost::LinkCoverage::rounds_done},
    CoverageField{"wanted_bytes", &cost::LinkCoverage::wanted_bytes},
    CoverageField{"same_node_bytes", &cost::LinkCoverage::same_node_bytes},
    CoverageField{"across_bytes", &cost::LinkCoverage::across_bytes}};

void write_link_coverage(hid_t parent, const cost::LinkCoverage& coverage) {
  const auto group = h5::create_group(parent, "link_coverage");
  const auto id = group.get();
  h5::write_attribute(id, "meaning", std::string("pairs and rounds that exist and that were measured"));
  for (const auto& [name, field] : coverage_fields) h5::write_attribute(id, name, coverage.*field);
  h5::write_column(id, "timer_resolution", std::vector<double>{coverage.timer_resolution}, "s",
                   "smallest step of the clock");
}

cost::LinkCoverage read_link_coverage(hid_t parent) {
  cost::LinkCoverage coverage;
  if (!h5::has(parent, "link_coverage")) return coverage;
  const auto group = open_group(parent, "link_coverage");
  for (const auto& [name, field] : coverage_fields)
    coverage.*field = h5::read_integer_attribute(group.get(), name);
  const auto resolution = h5::read_numbers(group.get(), "timer_resolution");
  require_rows("the link coverage", 1, {resolution.size()});
  coverage.timer_resolution = resolution[0];
  return coverage;
}

void write_changes(hid_t parent, const cost::HardwareProfile& hardware) {
  using cost::LinkChange;
  const auto group = h5::create_group(parent, "link_changes");
  const auto id = group.get();
  const auto& all = hardware.link_changes;
  h5::write_attribute(id, "meaning", std::string("links that differ by more than noise from an earlier map"));
  h5::write_attribute(id, "compared_with", hardware.compared_with);
  h5::write_column(id, "from", column<int64_t>(all, [](const LinkChange& c) { return c.from; }), "rank",
                   "sender");
  h5::write_column(id, "to", column<int64_t>(all, [](const LinkChange& c) { return c.to; }), "rank",
                   "receiver");
  h5::write_column(id, "path", texts(all, [](const LinkChange& c) { return c.path; }), "way of the bytes");
  h5::write_column(
      id, "latency",
      column<int64_t>(all, [](const LinkChange& c) { return c.figure == cost::LinkFigure::latency ? 1 : 0; }),
      "1", "1: latency in seconds; 0: bandwidth in bytes per second");
  h5::write_column(id, "before", column<double>(all, [](const LinkChange& c) { return c.before; }),
                   "s or B/s", "in the earlier profile");
  h5::write_column(id, "after", column<double>(all, [](const LinkChange& c) { return c.after; }), "s or B/s",
                   "in this one");
}

void read_changes(hid_t parent, cost::HardwareProfile& hardware) {
  if (!h5::has(parent, "link_changes")) return;
  const auto group = open_group(parent, "link_changes");
  const auto id = group.get();
  hardware.compared_with = h5::read_text_attribute(id, "compared_with");
  const auto from = h5::read_integers(id, "from"), to = h5::read_integers(id, "to");
  const auto latency = h5::read_integers(id, "latency");
  const auto paths = h5::read_texts(id, "path");
  const auto before = h5::read_numbers(id, "before"), after = h5::read_numbers(id, "after");
  require_rows("link changes", from.size(),
               {to.size(), latency.size(), paths.size(), before.size(), after.size()});
  for (size_t i = 0; i < from.size(); ++i)
    hardware.link_changes.push_back(
        {static_cast<int32_t>(from[i]), static_cast<int32_t>(to[i]), paths[i],
         latency[i] != 0 ? cost::LinkFigure::latency : cost::LinkFigure::bandwidth, before[i], after[i]});
}

}  // namespace

void write_links(hid_t hardware_group, const cost::HardwareProfile& hardware) {
  h5::write_column(hardware_group, "rank_nodes",
                   column<int64_t>(hardware.rank_nodes, [](int32_t node) { return node; }), "node",
                   "per rank; empty: ranks_per_node to each node");
  write_link_rows(hardware_group, hardware.links);
  write_link_coverage(hardware_group, hardware.link_coverage);
  write_changes(hardware_group, hardware);
  const auto transfer = h5::create_group(hardware_group, "transfer");
  const Curves tiers = {hardware.transfer_same_node, hardware.transfer_across};
  write_curves(transfer.get(), tiers, "B",
               "one message; curve 0 inside a node, curve 1 between nodes, all pairs of a round talking");
  write_fits(transfer.get(), tiers);
}

void read_links(hid_t hardware_group, cost::HardwareProfile& hardware) {
  if (h5::has(hardware_group, "rank_nodes"))
    hardware.rank_nodes =
        column<int32_t>(h5::read_integers(hardware_group, "rank_nodes"), [](int64_t node) { return node; });
  hardware.links = read_link_rows(hardware_group);
  hardware.link_coverage = read_link_coverage(hardware_group);
  read_changes(hardware_group, hardware);
  const auto group = open_group(hardware_group, "transfer");
  auto transfer = read_curves(group.get(), 2);
  if (h5::has(group.get(), "fit")) read_fits(group.get(), transfer);
  hardware.transfer_same_node = std::move(transfer[0]);
  hardware.transfer_across = std::move(transfer[1]);
}

}  // namespace galvatron::store::profile
