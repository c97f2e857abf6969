// The lower left hull of points, by the monotone chain.
#include "search/hull.hpp"

#include <algorithm>

namespace galvatron::search {

void add_hull_slopes(std::vector<std::pair<double, double>> points, std::vector<double>& slopes) {
  std::vector<std::pair<double, double>> hull;
  std::sort(points.begin(), points.end());
  const auto slope = [](const auto& a, const auto& b) { return (a.second - b.second) / (b.first - a.first); };
  for (const auto& point : points) {
    if (!hull.empty() && point.second >= hull.back().second) continue;
    while (hull.size() > 1 && slope(hull[hull.size() - 2], hull.back()) <= slope(hull.back(), point))
      hull.pop_back();
    hull.push_back(point);
  }
  for (size_t i = 0; i + 1 < hull.size(); ++i) slopes.push_back(slope(hull[i], hull[i + 1]));
}

}  // namespace galvatron::search
