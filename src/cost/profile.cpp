// Curves: linear between measured points, honest outside of them.
#include "cost/profile.hpp"

#include <algorithm>
#include <cmath>
#include <tuple>

namespace galvatron::cost {

bool Curve::measured(double x) const {
  return !points.empty() && x >= points.front().x && x <= points.back().x;
}

double Curve::at(double x) const {
  if (points.empty()) return 0;
  if (points.size() == 1 || x <= points.front().x) {
    // A single point says nothing about the slope: time grows with size beyond it, as if it were all rate.
    const Point& only = points.front();
    return points.size() == 1 && x > only.x && only.x > 0 ? only.seconds * x / only.x : only.seconds;
  }
  auto right = std::lower_bound(points.begin(), points.end(), x,
                                [](const Point& point, double value) { return point.x < value; });
  if (right == points.end()) --right;
  const Point &a = *(right - 1), &b = *right;
  const double slope = b.x > a.x ? (b.seconds - a.seconds) / (b.x - a.x) : 0;
  // Noise must not make larger sizes cheaper than the last one measured.
  if (x > b.x) return b.seconds + std::max(slope, 0.0) * (x - b.x);
  return a.seconds + slope * (x - a.x);
}

const Interference* interference_of(const HardwareProfile& profile, core::CollectiveKind kind,
                                    const GroupShape& shape, double bytes) {
  // How many nodes a group lies on tells more about who works for it than how many members it has.
  const auto distance = [&](const Interference& row) {
    const auto ratio = [](double a, double b) {
      return std::abs(std::log(std::max(a, 1.0) / std::max(b, 1.0)));
    };
    return std::tuple(row.shape == shape ? 0 : 1, ratio(row.shape.nodes, shape.nodes),
                      ratio(row.shape.ranks, shape.ranks), ratio(row.bytes, bytes));
  };
  const Interference* nearest = nullptr;
  for (const auto& row : profile.interference)
    if (row.kind == kind && (nearest == nullptr || distance(row) < distance(*nearest))) nearest = &row;
  return nearest;
}

}  // namespace galvatron::cost
