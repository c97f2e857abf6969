// The lower convex hull of (units, seconds): mixing its neighbours is the best that fractions of layers could
// do.
#include <algorithm>
#include <limits>

#include "search/galvatron3/stage_path.hpp"

namespace galvatron::search::galvatron3 {

PathBound::PathBound(std::vector<PathChoice> choices) {
  std::sort(choices.begin(), choices.end(), [](const auto& a, const auto& b) {
    return a.units != b.units ? a.units < b.units : a.seconds < b.seconds;
  });
  for (const auto& c : choices) {
    if (!hull_.empty() && c.seconds >= hull_.back().seconds) continue;
    while (hull_.size() > 1) {
      const auto &a = hull_[hull_.size() - 2], &b = hull_.back();
      const double turn = (b.seconds - a.seconds) * static_cast<double>(c.units - a.units) -
                          (c.seconds - a.seconds) * static_cast<double>(b.units - a.units);
      if (turn < 0) break;
      hull_.pop_back();
    }
    hull_.push_back(c);
  }
}

size_t PathBound::segment(double each) const {
  size_t i = 0;
  while (i + 1 < hull_.size() && static_cast<double>(hull_[i + 1].units) <= each) ++i;
  return i;
}

double PathBound::seconds(int64_t layers, double budget) const {
  constexpr double infinite = std::numeric_limits<double>::infinity();
  if (layers == 0) return budget < 0 ? infinite : 0;
  const double each = budget / static_cast<double>(layers);
  if (hull_.empty() || each < static_cast<double>(hull_.front().units)) return infinite;
  const size_t i = segment(each);
  double least = hull_[i].seconds;
  if (i + 1 < hull_.size()) {
    const double share = (each - static_cast<double>(hull_[i].units)) /
                         static_cast<double>(hull_[i + 1].units - hull_[i].units);
    least += share * (hull_[i + 1].seconds - hull_[i].seconds);
  }
  return static_cast<double>(layers) * least;
}

double PathBound::worth(int64_t layers, double budget) const {
  if (hull_.empty() || layers == 0) return 0;
  const size_t i = segment(budget / static_cast<double>(layers));
  if (i + 1 >= hull_.size()) return 0;
  return (hull_[i].seconds - hull_[i + 1].seconds) / static_cast<double>(hull_[i + 1].units - hull_[i].units);
}

}  // namespace galvatron::search::galvatron3
