// Ticks at 1, 2, 5 × powers of ten, or at powers of the base.

#include "report/axis.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "core/format.hpp"

namespace galvatron::report {
namespace {

double round_step(double span, int wanted) {
  const double raw = span / std::max(1, wanted);
  const double power = std::pow(10, std::floor(std::log10(raw)));
  for (const double factor : {1.0, 2.0, 5.0})
    if (factor * power >= raw * 0.999) return factor * power;
  return 10 * power;
}

}  // namespace

Axis::Axis(Scale kind, double from, double to) : scale(kind), low(from), high(to) {
  if (!std::isfinite(low)) low = 0;
  if (!std::isfinite(high)) high = low;
  if (scale == Scale::logarithmic) {
    if (!(high > 0)) high = 1;
    if (!(low > 0)) low = high / 10;
    if (!(high > low)) high = low * 2;
  } else if (!(high > low)) {
    high = low + std::max(1e-12, std::abs(low));
  }
}

Axis Axis::rounded(Scale kind, double from, double to) {
  Axis axis(kind, from, to);
  if (kind == Scale::linear) {
    const double step = round_step(axis.high - axis.low, 5);
    axis.low = std::floor(axis.low / step + 1e-9) * step;
    axis.high = std::ceil(axis.high / step - 1e-9) * step;
    return axis;
  }
  const auto power = [](double value, bool up) {
    const double e = std::floor(std::log10(value) + 1e-12), base = std::pow(10, e);
    constexpr std::array marks = {1.0, 2.0, 5.0, 10.0};
    if (up) return *std::lower_bound(marks.begin(), marks.end(), value / base * (1 - 1e-9)) * base;
    return *(std::upper_bound(marks.begin(), marks.end(), value / base * (1 + 1e-9)) - 1) * base;
  };
  return {kind, power(axis.low, false), power(axis.high, true)};
}

double Axis::at(double value) const {
  if (scale == Scale::linear) return (value - low) / (high - low);
  return std::log(std::max(value, low * 1e-6) / low) / std::log(high / low);
}

std::vector<double> Axis::ticks(int wanted, double base) const {
  std::vector<double> found;
  if (scale == Scale::linear) {
    const double step = round_step(high - low, wanted);
    for (double i = std::ceil(low / step - 1e-9); i * step <= high + step * 1e-9; ++i)
      found.push_back(i * step + 0.0);  // no -0
    return found;
  }
  const double powers = std::log(high / low) / std::log(base);
  const double every = std::max(1.0, std::ceil(powers / wanted));
  const auto first = std::floor(std::log(low) / std::log(base));
  for (double e = first; std::pow(base, e) <= high * 1.001; ++e) {
    if (std::fmod(std::abs(e), every) > 0.5) continue;
    for (const double part : {1.0, 2.0, 5.0}) {
      const double value = part * std::pow(base, e);
      if (part > 1 && (base < 10 || powers > 2.5)) break;
      if (value >= low * 0.999 && value <= high * 1.001) found.push_back(value);
    }
  }
  return found;
}

Plot::Plot(Svg& svg, const Box& field, const Way& x, const Way& y) : field_(field), x_(x.axis), y_(y.axis) {
  const Line grid{"#ddd", 1};
  const double right = field.x + field.width, bottom = field.y + field.height;
  for (const double tick : y.axis.ticks(y.ticks, y.base)) {
    svg.line(field.x, this->y(tick), right, this->y(tick), grid);
    svg.text(field.x - 6, this->y(tick) + 4, y.label(tick), {Anchor::end, 11});
  }
  for (const double tick : x.axis.ticks(x.ticks, x.base)) {
    svg.line(this->x(tick), field.y, this->x(tick), bottom, grid);
    svg.text(this->x(tick), bottom + 16, x.label(tick), {Anchor::middle, 11});
  }
  svg.line(field.x, bottom, right, bottom, {"#555", 1});
  svg.line(field.x, field.y, field.x, bottom, {"#555", 1});
  svg.text(field.x + field.width / 2, bottom + 34, x.meaning, {Anchor::middle, 12});
  svg.text(field.x, field.y - 8, y.meaning, {Anchor::start, 12});
}

Plot::Way rows_by_hand() {
  return {Axis(Scale::linear, 0, 1), [](double) { return std::string(); }, "", 1};
}

std::string bytes_label(double bytes) {
  constexpr std::array<const char*, 5> units = {"B", "KiB", "MiB", "GiB", "TiB"};
  size_t unit = 0;
  while (bytes >= 1024 && unit + 1 < units.size()) bytes /= 1024, ++unit;
  return core::format("{:.3g} {}", bytes, units[unit]);
}

std::string seconds_label(double seconds) {
  if (seconds == 0) return "0";
  const double size = std::abs(seconds);
  if (size < 1e-6) return core::format("{:.3g} ns", seconds * 1e9);
  if (size < 1e-3) return core::format("{:.3g} µs", seconds * 1e6);
  if (size < 1) return core::format("{:.3g} ms", seconds * 1e3);
  return core::format("{:.4g} s", seconds);
}

std::string gigabytes_label(double bytes_per_second) {
  return core::format("{:.3g}", bytes_per_second * 1e-9);
}

std::string plain_label(double value) {
  return core::format("{:.4g}", std::abs(value) < 1e-300 ? 0.0 : value);
}

}  // namespace galvatron::report
