// Curves: linear between measured points, honest outside of them.
#include "cost/curve.hpp"

#include <algorithm>

namespace galvatron::cost {

double Fit::at(double x) const {
  if (segments.empty()) return 0;
  const FitSegment* segment = &segments.front();
  for (const FitSegment& next : segments)
    if (next.first <= x) segment = &next;
  return segment->at(x);
}

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

}  // namespace galvatron::cost
