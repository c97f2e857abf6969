#pragma once
// A measured quantity over a size: points, the lines fitted through them, and honesty about what lies
// outside.

#include <cstdint>
#include <vector>

namespace galvatron::cost {

/// seconds = latency + x · seconds_per_x, from `first` on up to where the next segment begins.
struct FitSegment {
  double first = 0;            ///< x of the first point that it was fitted to
  double latency_seconds = 0;  ///< ≥ 0
  double seconds_per_x = 0;    ///< > 0; bytes per second are its inverse

  double at(double x) const { return latency_seconds + x * seconds_per_x; }
  bool operator==(const FitSegment&) const = default;
};

/// A few straight lines through the medians of a curve, each by relative least squares; it never falls.
struct Fit {
  std::vector<FitSegment> segments;  ///< ascending, at most 3; empty = not fitted
  std::vector<double> residuals;     ///< (fit − measured) / measured, one per point of the curve
  double relative_residual = 0;      ///< root mean square of them

  /// 0 without segments. Whether x was measured is the curve's to say.
  double at(double x) const;
  bool operator==(const Fit&) const = default;
};

/// Seconds over a size (bytes, rows …), ascending in x.
struct Curve {
  struct Point {
    double x = 0;
    double seconds = 0;  ///< median
    double minimum = 0, p95 = 0, p99 = 0;
    double variation = 0;  ///< coefficient of variation: standard deviation over mean
    int64_t samples = 0;
    bool operator==(const Point&) const = default;
  };
  std::vector<Point> points;
  Fit fit;  ///< of links; others may have none

  bool measured(double x) const;
  /// Linear between points. Below the first point its value; beyond the last the line through the last two
  /// points (flag: measured(x)).
  double at(double x) const;
  bool operator==(const Curve&) const = default;
};

}  // namespace galvatron::cost
