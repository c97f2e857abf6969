// From single links to what prices and people read: curves per tier, and what is missing.
#include <algorithm>
#include <map>

#include "core/format.hpp"
#include "core/units.hpp"
#include "measure/fit.hpp"
#include "measure/links.hpp"
#include "measure/statistics.hpp"

namespace galvatron::measure {
namespace {

/// Medians over the links of a tier, size by size.
cost::Curve tier_curve(const std::vector<const cost::Link*>& links) {
  std::map<double, std::vector<const cost::Curve::Point*>> by_size;
  for (const auto* link : links)
    for (const auto& p : (link->loaded.points.empty() ? link->isolated : link->loaded).points)
      by_size[p.x].push_back(&p);
  cost::Curve curve;
  for (const auto& [bytes, points] : by_size) {
    const auto median = [&](double cost::Curve::Point::*field) {
      std::vector<double> values;
      for (const auto* p : points) values.push_back(p->*field);
      return median_of(values);
    };
    auto& point = curve.points.emplace_back();
    point.x = bytes;
    point.seconds = median(&cost::Curve::Point::seconds);
    point.p95 = median(&cost::Curve::Point::p95);
    point.p99 = median(&cost::Curve::Point::p99);
    point.variation = median(&cost::Curve::Point::variation);
    point.minimum = points.front()->minimum;
    for (const auto* p : points) {
      point.minimum = std::min(point.minimum, p->minimum);
      point.samples += p->samples;
    }
  }
  curve.fit = fit_pieces(curve.points);
  return curve;
}

}  // namespace

void store_links(const LinkMap& map, const std::string& first_path, cost::HardwareProfile& profile) {
  profile.links = map.links;
  profile.link_coverage = map.coverage;
  std::vector<const cost::Link*> same, across;
  for (const auto& link : profile.links) {
    if (link.path != first_path) continue;
    const bool local = cost::node_of(profile, link.from) == cost::node_of(profile, link.to);
    (local ? same : across).push_back(&link);
  }
  profile.transfer_same_node = tier_curve(same);
  profile.transfer_across = tier_curve(across);
}

std::vector<std::string> left_out(const cost::LinkCoverage& coverage) {
  std::vector<std::string> lines;
  const auto part = [&](const std::string& what, int64_t done, int64_t all) {
    if (done < all) lines.push_back(core::format("{} of {} {} within the budget", done, all, what));
  };
  part("pairs inside nodes alone", coverage.inside_done, coverage.inside);
  part("pairs of first ranks of nodes alone", coverage.leaders_done, coverage.leaders);
  part("other pairs alone, drawn at random,", coverage.rest_done, coverage.rest);
  part("rounds of all pairs at once", coverage.rounds_done, coverage.rounds);
  const auto sizes = [&](const std::string& where, int64_t reached) {
    if (reached > 0 && reached < coverage.wanted_bytes)
      lines.push_back(core::format("messages {} up to {} instead of {}", where, core::format_bytes(reached),
                                   core::format_bytes(coverage.wanted_bytes)));
  };
  sizes("inside nodes", coverage.same_node_bytes);
  sizes("across nodes", coverage.across_bytes);
  return lines;
}

}  // namespace galvatron::measure
