// Samples decide what noise is: a fit has none.
#include "measure/link_changes.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <tuple>
#include <utility>

#include "measure/link_figures.hpp"
#include "measure/verdicts.hpp"

namespace galvatron::measure {
namespace {

constexpr double least_change = 0.10;

/// A rank by its host and its place there.
using Seat = std::pair<std::string, int64_t>;
using Name = std::tuple<Seat, Seat, std::string>;

std::vector<Seat> seats_of(const cost::HardwareProfile& profile) {
  std::map<int64_t, int64_t> seated;
  std::vector<Seat> seats;
  for (int64_t rank = 0; rank < profile.ranks; ++rank) {
    const auto node = node_of(profile, rank);
    seats.emplace_back(host_of(profile, node), seated[node]++);
  }
  return seats;
}

std::map<Name, const cost::Link*> by_name(const cost::HardwareProfile& profile) {
  const auto seats = seats_of(profile);
  std::map<Name, const cost::Link*> out;
  for (const auto& link : profile.links)
    out[{seats.at(static_cast<size_t>(link.from)), seats.at(static_cast<size_t>(link.to)), link.path}] =
        &link;
  return out;
}

bool differs(const cost::Curve::Point& a, const cost::Curve::Point& b) {
  if (std::abs(a.seconds - b.seconds) <= least_change * b.seconds) return false;
  return a.minimum > b.p95 || b.minimum > a.p95;
}

void compare(const cost::Link& link, const cost::Curve& now, const cost::Curve& before,
             std::vector<cost::LinkChange>& out) {
  std::vector<std::pair<const cost::Curve::Point*, const cost::Curve::Point*>> common;
  for (const auto& p : now.points) {
    const auto same = std::find_if(before.points.begin(), before.points.end(),
                                   [&](const auto& earlier) { return earlier.x == p.x; });
    if (same != before.points.end()) common.emplace_back(&p, &*same);
  }
  if (common.empty()) return;
  const auto& [small, small_before] = common.front();
  if (differs(*small, *small_before))
    out.push_back(
        {link.from, link.to, link.path, cost::LinkFigure::latency, small_before->seconds, small->seconds});
  const auto& [large, large_before] = common.back();
  if (common.size() > 1 && differs(*large, *large_before))
    out.push_back({link.from, link.to, link.path, cost::LinkFigure::bandwidth,
                   large_before->x / large_before->seconds, large->x / large->seconds});
}

}  // namespace

std::vector<cost::LinkChange> link_changes(const cost::HardwareProfile& now,
                                           const cost::HardwareProfile& earlier) {
  std::vector<cost::LinkChange> out;
  const auto before = by_name(earlier);
  for (const auto& [name, link] : by_name(now)) {
    const auto same = before.find(name);
    if (same == before.end()) continue;
    // Like with like: what was measured alone with what was measured alone.
    const bool alone = !link->isolated.points.empty() && !same->second->isolated.points.empty();
    compare(*link, alone ? link->isolated : link->loaded,
            alone ? same->second->isolated : same->second->loaded, out);
  }
  return out;
}

}  // namespace galvatron::measure
