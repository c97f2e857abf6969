#pragma once
// From values to pixels, with ticks at round numbers, and the frame that all curves are drawn in.

#include <algorithm>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "report/svg.hpp"

namespace galvatron::report {

enum class Scale { linear, logarithmic };

/// low < high afterwards, whatever came in; logarithmic ones are above 0.
struct Axis {
  Axis(Scale scale, double low, double high);
  /// As above, with room at the ends up to the next round number.
  static Axis rounded(Scale scale, double low, double high);

  double at(double value) const;  ///< 0 … 1
  /// About `wanted` round values, ascending; powers of `base` (or parts of them) where logarithmic.
  std::vector<double> ticks(int wanted, double base = 10) const;

  Scale scale;
  double low, high;
};

using Label = std::function<std::string(double)>;

/// A field with two axes, grid lines, ticks and what they mean.
class Plot {
 public:
  struct Way {
    Axis axis;
    Label label;
    std::string meaning;  ///< with its unit
    int ticks = 5;
    double base = 10;
  };

  Plot(Svg& svg, const Box& field, const Way& x, const Way& y);

  double x(double value) const { return field_.x + field_.width * x_.at(value); }
  double y(double value) const { return field_.y + field_.height * (1 - y_.at(value)); }
  const Box& field() const { return field_; }

 private:
  Box field_;
  Axis x_, y_;
};

/// An axis without ticks or a name, for rows that are placed by hand.
Plot::Way rows_by_hand();

/// The least and the most of what was added.
struct Range {
  double low = std::numeric_limits<double>::infinity(), high = -std::numeric_limits<double>::infinity();
  void add(double value) {
    low = std::min(low, value);
    high = std::max(high, value);
  }
  bool any() const { return low <= high; }
};

/// "8 B", "64 KiB": sizes as people name them.
std::string bytes_label(double bytes);
/// "2.5 ms", short.
std::string seconds_label(double seconds);
/// "12.5": a rate in GB/s without its unit.
std::string gigabytes_label(double bytes_per_second);
/// Up to four digits, without trailing zeros.
std::string plain_label(double value);

}  // namespace galvatron::report
