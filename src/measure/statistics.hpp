#pragma once
// What is said about a set of samples, the fit of a link, and who is slow among equals. Pure functions.

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "cost/curve.hpp"

namespace galvatron::measure {

/// Of one set of samples (seconds, mostly). Percentiles by nearest rank; the median of an even count is the
/// mean of the middle two.
struct Summary {
  double minimum = 0, median = 0, p95 = 0, p99 = 0;
  double coefficient_of_variation = 0;  ///< standard deviation (n − 1) over mean; 0 for one sample
  int64_t samples = 0;
};

/// At least one sample.
Summary summarise(std::span<const double> samples);

/// As a point of a curve. A time is never quite 0, so that it can be compared.
cost::Curve::Point point_of(double x, const Summary& summary);

/// At least one value.
double median_of(std::span<const double> values);

/// seconds = latency + bytes / bytes_per_second.
struct LatencyBandwidth {
  double latency_seconds = 0;
  double bytes_per_second = std::numeric_limits<double>::infinity();
  double relative_residual = 0;  ///< root mean square of (fit − measured) / measured

  double seconds(double bytes) const { return latency_seconds + bytes / bytes_per_second; }
};

struct SizedTime {
  double bytes = 0, seconds = 0;
};

/// Relative least squares: each point weighs the same in per cent, so that a microsecond at 8 bytes counts as
/// much as a millisecond at a megabyte. latency ≥ 0 and bytes_per_second > 0 always. At least one point,
/// bytes > 0, seconds > 0.
LatencyBandwidth fit_latency_bandwidth(std::span<const SizedTime> points);

enum class Worse { higher, lower };

/// One value that stands out on the bad side.
struct Outlier {
  int64_t index = 0;
  double value = 0, median = 0;
  double robust_z = 0;  ///< |value − median| / (1.4826 · MAD); infinite when the others are all equal
};

/// Values with robust z > 3.5 that are also more than 10 % worse than the median (Iglewicz and Hoaglin, How
/// to Detect and Handle Outliers, 1993, with a floor for very even sets). Fewer than three values have no
/// outliers.
std::vector<Outlier> slow_ones(std::span<const double> values, Worse worse);

/// Likewise, with median and spread taken from `peers` instead of all values: for sets in which the bad ones
/// are too many to be outliers. Fewer than two peers have no outliers.
std::vector<Outlier> slow_beside(std::span<const double> values, std::span<const double> peers, Worse worse);

}  // namespace galvatron::measure
