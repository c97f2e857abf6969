// Medians before means everywhere: a shared machine has long tails.
#include "measure/statistics.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/errors.hpp"

namespace galvatron::measure {
namespace {

double median_of_sorted(std::span<const double> sorted) {
  const auto n = sorted.size();
  return n % 2 == 1 ? sorted[n / 2] : 0.5 * (sorted[n / 2 - 1] + sorted[n / 2]);
}

double nearest_rank(std::span<const double> sorted, double fraction) {
  const auto rank = static_cast<size_t>(std::ceil(fraction * static_cast<double>(sorted.size())));
  return sorted[std::clamp<size_t>(rank, 1, sorted.size()) - 1];
}

double residual_of(std::span<const SizedTime> points, const LatencyBandwidth& fit) {
  double sum = 0;
  for (const auto& p : points) {
    const double relative = (fit.seconds(p.bytes) - p.seconds) / p.seconds;
    sum += relative * relative;
  }
  return std::sqrt(sum / static_cast<double>(points.size()));
}

}  // namespace

Summary summarise(std::span<const double> samples) {
  GALV_ASSERT(!samples.empty());
  std::vector<double> sorted(samples.begin(), samples.end());
  std::sort(sorted.begin(), sorted.end());
  Summary out;
  out.samples = static_cast<int64_t>(sorted.size());
  out.minimum = sorted.front();
  out.median = median_of_sorted(sorted);
  out.p95 = nearest_rank(sorted, 0.95);
  out.p99 = nearest_rank(sorted, 0.99);
  if (sorted.size() > 1) {
    const auto n = static_cast<double>(sorted.size());
    const double mean = std::accumulate(sorted.begin(), sorted.end(), 0.0) / n;
    double squares = 0;
    for (const double x : sorted) squares += (x - mean) * (x - mean);
    if (mean > 0) out.coefficient_of_variation = std::sqrt(squares / (n - 1)) / mean;
  }
  return out;
}

cost::Curve::Point point_of(double x, const Summary& summary) {
  constexpr double least = 1e-9;  // seconds
  return {x,           std::max(summary.median, least),  summary.minimum, summary.p95,
          summary.p99, summary.coefficient_of_variation, summary.samples};
}

double median_of(std::span<const double> values) {
  GALV_ASSERT(!values.empty());
  std::vector<double> sorted(values.begin(), values.end());
  std::sort(sorted.begin(), sorted.end());
  return median_of_sorted(sorted);
}

LatencyBandwidth fit_latency_bandwidth(std::span<const SizedTime> points) {
  GALV_ASSERT(!points.empty());
  // Weighted sums with weight 1 / seconds².
  double w = 0, wx = 0, wt = 0, wxx = 0, wxt = 0;
  double slowest = 0;  // seconds per byte of the largest message: the fallback slope
  double largest = 0;
  for (const auto& p : points) {
    GALV_ASSERT(p.bytes > 0 && p.seconds > 0, p.bytes, p.seconds);
    const double weight = 1.0 / (p.seconds * p.seconds);
    w += weight;
    wx += weight * p.bytes;
    wt += weight * p.seconds;
    wxx += weight * p.bytes * p.bytes;
    wxt += weight * p.bytes * p.seconds;
    if (p.bytes >= largest) {
      largest = p.bytes;
      slowest = p.seconds / p.bytes;
    }
  }
  const double determinant = w * wxx - wx * wx;
  double latency = 0;
  double slope = wxt / wxx;  // the best line through the origin
  if (points.size() > 1 && determinant > 1e-12 * w * wxx) {
    const double free_latency = (wxx * wt - wx * wxt) / determinant;
    const double free_slope = (w * wxt - wx * wt) / determinant;
    if (free_latency >= 0 && free_slope > 0) {
      latency = free_latency;
      slope = free_slope;
    } else if (free_slope <=
               0) {  // times that do not grow: all latency; the largest message bounds the slope
      latency = wt / w;
      slope = slowest;
    }
  }
  LatencyBandwidth fit{latency, 1.0 / slope, 0};
  fit.relative_residual = residual_of(points, fit);
  return fit;
}

std::vector<Outlier> slow_ones(std::span<const double> values, Worse worse) {
  if (values.size() < 3) return {};
  return slow_beside(values, values, worse);
}

std::vector<Outlier> slow_beside(std::span<const double> values, std::span<const double> peers, Worse worse) {
  if (peers.size() < 2) return {};
  const double median = median_of(peers);
  std::vector<double> distances;
  for (const double v : peers) distances.push_back(std::abs(v - median));
  const double spread = 1.4826 * median_of(distances);
  std::vector<Outlier> out;
  for (size_t i = 0; i < values.size(); ++i) {
    const double deviation = worse == Worse::higher ? values[i] - median : median - values[i];
    if (deviation <= 0.10 * std::abs(median)) continue;
    const double z = spread > 0 ? deviation / spread : std::numeric_limits<double>::infinity();
    if (z > 3.5) out.push_back({static_cast<int64_t>(i), values[i], median, z});
  }
  return out;
}

}  // namespace galvatron::measure
