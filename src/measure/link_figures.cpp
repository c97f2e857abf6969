// Medians at measured sizes and not fits: a fit spreads one odd size over all of them.
#include "measure/link_figures.hpp"

#include <algorithm>
#include <map>

#include "measure/statistics.hpp"

namespace galvatron::measure {
namespace {

/// Size → the values of the links that have it.
using Peers = std::map<double, std::vector<double>>;

double figure_of(double bytes, double seconds, cost::LinkFigure figure) {
  return figure == cost::LinkFigure::latency ? seconds : bytes / seconds;
}

double plain(const cost::Link& link, cost::LinkFigure figure) {
  return figure == cost::LinkFigure::latency ? link.latency_seconds : link.bytes_per_second;
}

/// The point that decides: the smallest size, or the largest one that enough peers have. The smallest says
/// nothing of bandwidth.
const cost::Curve::Point* deciding(const cost::Curve& curve, const Peers& peers, size_t links,
                                   cost::LinkFigure figure) {
  const cost::Curve::Point* found = nullptr;
  for (const auto& point : curve.points) {
    if (2 * peers.at(point.x).size() < links) continue;
    if (figure == cost::LinkFigure::latency) return &point;
    if (&point != &curve.points.front()) found = &point;
  }
  return found;
}

}  // namespace

const cost::Curve& judged_curve(const cost::Link& link) {
  return link.isolated.points.empty() ? link.loaded : link.isolated;
}

std::vector<Judged> judged(const cost::HardwareProfile& profile, const std::vector<size_t>& links,
                           cost::LinkFigure figure) {
  Peers peers;
  std::vector<double> plain_values;
  for (const auto i : links) {
    for (const auto& point : judged_curve(profile.links[i]).points)
      peers[point.x].push_back(figure_of(point.x, point.seconds, figure));
    plain_values.push_back(plain(profile.links[i], figure));
  }
  std::vector<Judged> out;
  for (const auto i : links) {
    const auto* point = deciding(judged_curve(profile.links[i]), peers, links.size(), figure);
    Judged j{i, plain(profile.links[i], figure), 0, 0, 0, 1};
    if (point != nullptr) j.value = figure_of(point->x, point->seconds, figure);
    j.best = j.value;
    if (point != nullptr && point->minimum > 0) j.best = figure_of(point->x, point->minimum, figure);
    j.reference = median_of(point != nullptr ? peers.at(point->x) : plain_values);
    if (point != nullptr) j.tail = point->p95;
    if (j.reference > 0) j.ratio = j.value / j.reference;
    out.push_back(j);
  }
  return out;
}

}  // namespace galvatron::measure
