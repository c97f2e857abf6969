// There are few sizes, so all places where lines may meet are tried.
#include "measure/fit.hpp"

#include <cmath>
#include <limits>
#include <optional>
#include <vector>

#include "core/errors.hpp"
#include "measure/statistics.hpp"

namespace galvatron::measure {
namespace {

constexpr size_t fewest_points = 3;  // of a line: two would fit anything
// Relative error below which a fit is as good as exact: a third line is no answer to half a per cent.
constexpr double exact = 0.005;

using Points = std::span<const cost::Curve::Point>;

struct Piece {
  size_t begin = 0, end = 0;  // of the points
  cost::FitSegment line;
  double squares = 0;  // of relative residuals
};

Piece piece_of(Points points, size_t begin, size_t end) {
  std::vector<SizedTime> times;
  for (size_t i = begin; i < end; ++i) times.push_back({points[i].x, points[i].seconds});
  const auto fit = fit_latency_bandwidth(times);
  Piece piece{begin, end, {points[begin].x, fit.latency_seconds, 1.0 / fit.bytes_per_second}, 0};
  for (const auto& t : times) {
    const double relative = (piece.line.at(t.bytes) - t.seconds) / t.seconds;
    piece.squares += relative * relative;
  }
  return piece;
}

/// `next` behind `before`: it begins where the lines cross when that lies between their points, else at its
/// own first point; nothing when the time would fall there.
std::optional<cost::FitSegment> joined(Points points, const Piece& before, const Piece& next) {
  auto line = next.line;
  const double last = points[before.end - 1].x;
  const double first = points[next.begin].x;
  const double slopes = line.seconds_per_x - before.line.seconds_per_x;
  const double crossing = slopes != 0 ? (before.line.latency_seconds - line.latency_seconds) / slopes : last;
  if (slopes > 0 && crossing > last && crossing <= first) {
    line.first = crossing;
    return line;
  }
  if (line.at(first) >= before.line.at(first)) return line;
  return std::nullopt;
}

/// Walks through all cuts of the points and keeps the best one.
class Search {
 public:
  explicit Search(Points points) : points_(points) {}

  std::vector<cost::FitSegment> best() {
    grow(0);
    return best_;
  }

 private:
  void grow(size_t begin) {
    const auto n = points_.size();
    consider_last(begin);
    if (static_cast<int64_t>(pieces_.size()) + 1 >= most_segments) return;
    for (size_t end = begin + fewest_points; end + fewest_points <= n; ++end) {
      if (!push(begin, end)) continue;
      grow(end);
      pop();
    }
  }

  void consider_last(size_t begin) {
    if (!push(begin, points_.size())) return;
    const auto n = static_cast<double>(points_.size());
    double squares = 0;
    for (const auto& piece : pieces_) squares += piece.squares;
    const double parameters = 3.0 * static_cast<double>(pieces_.size()) - 1.0;
    const double criterion = n * std::log(squares / n + exact * exact) + parameters * std::log(n);
    if (criterion < least_) {
      least_ = criterion;
      best_ = lines_;
    }
    pop();
  }

  bool push(size_t begin, size_t end) {
    const auto piece = piece_of(points_, begin, end);
    auto line = piece.line;
    if (!pieces_.empty()) {
      const auto fitting = joined(points_, pieces_.back(), piece);
      if (!fitting) return false;
      line = *fitting;
    }
    pieces_.push_back(piece);
    lines_.push_back(line);
    return true;
  }

  void pop() {
    pieces_.pop_back();
    lines_.pop_back();
  }

  Points points_;
  std::vector<Piece> pieces_;
  std::vector<cost::FitSegment> lines_, best_;
  double least_ = std::numeric_limits<double>::infinity();
};

}  // namespace

void note_residuals(cost::Curve& curve) {
  auto& fit = curve.fit;
  fit.residuals.clear();
  fit.relative_residual = 0;
  if (curve.points.empty()) return;
  double squares = 0;
  for (const auto& p : curve.points) {
    fit.residuals.push_back((fit.at(p.x) - p.seconds) / p.seconds);
    squares += fit.residuals.back() * fit.residuals.back();
  }
  fit.relative_residual = std::sqrt(squares / static_cast<double>(curve.points.size()));
}

cost::Fit fit_pieces(Points points) {
  if (points.empty()) return {};
  cost::Curve curve;
  curve.points.assign(points.begin(), points.end());
  curve.fit.segments = Search(points).best();
  note_residuals(curve);
  GALV_ASSERT(!curve.fit.segments.empty(), points.size());
  return curve.fit;
}

}  // namespace galvatron::measure
