#pragma once
// Which trades of memory for time can be part of an optimum: the multipliers that Lagrangian bounds try.

#include <utility>
#include <vector>

namespace galvatron::search {

/// Appends, for points (bytes, nanoseconds), the nanoseconds per byte between neighbours on their lower hull,
/// fewest bytes first.
void add_hull_slopes(std::vector<std::pair<double, double>> points, std::vector<double>& slopes);

}  // namespace galvatron::search
