#pragma once
// A few straight lines through the medians of a curve: how MPI's protocols, which change with the size of the
// message, show in a table of times.

#include <cstdint>
#include <span>

#include "cost/curve.hpp"

namespace galvatron::measure {

constexpr int64_t most_segments = 3;

/// Piecewise linear by relative least squares, up to `most_segments` lines over at least three points each,
/// as many as Schwarz's criterion asks for (Estimating the dimension of a model, Annals of Statistics, 1978):
/// n ln(RSS / n) + k ln n, where a line counts two and a place between lines one. Each line has latency ≥ 0
/// and slope > 0, and where one follows another the time does not fall. Empty without points; x > 0 and
/// seconds > 0.
cost::Fit fit_pieces(std::span<const cost::Curve::Point> points);

/// Writes into the curve's fit how far it is from the points.
void note_residuals(cost::Curve& curve);

}  // namespace galvatron::measure
