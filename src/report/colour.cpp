// The ramp is made in CIELAB, where equal steps of L* look equal, and turned into sRGB (IEC 61966-2-1).

#include "report/colour.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>

#include "core/format.hpp"

namespace galvatron::report {
namespace {

constexpr double lightest = 95, darkest = 25;
constexpr double hue = 255 * 3.14159265358979323846 / 180;  // blue
constexpr double most_chroma = 42;

double linear_of_lab(double t) {
  return t > 6.0 / 29 ? t * t * t : 3 * (6.0 / 29) * (6.0 / 29) * (t - 4.0 / 29);
}

int channel(double linear) {
  const double v = std::clamp(linear, 0.0, 1.0);
  const double s = v <= 0.0031308 ? 12.92 * v : 1.055 * std::pow(v, 1 / 2.4) - 0.055;
  return static_cast<int>(std::lround(255 * s));
}

double lightness(double t) {
  return lightest + (darkest - lightest) * std::clamp(t, 0.0, 1.0);
}

}  // namespace

std::string ramp(double t) {
  const double l = lightness(t);
  // Least colour at the light end, so that the best of cells does not outshine the page.
  const double chroma = most_chroma * std::sin(0.15 + 1.9 * std::clamp(t, 0.0, 1.0));
  const double fy = (l + 16) / 116, fx = fy + chroma * std::cos(hue) / 500,
               fz = fy - chroma * std::sin(hue) / 200;
  const double x = 0.95047 * linear_of_lab(fx), y = linear_of_lab(fy), z = 1.08883 * linear_of_lab(fz);
  return core::format("#{:02x}{:02x}{:02x}", channel(3.2406 * x - 1.5372 * y - 0.4986 * z),
                      channel(-0.9689 * x + 1.8758 * y + 0.0415 * z),
                      channel(0.0557 * x - 0.2040 * y + 1.0570 * z));
}

std::string ink_on_ramp(double t) {
  return lightness(t) > 49.4 ? "#000" : "#fff";
}

std::string series_colour(int index) {
  constexpr std::array<const char*, series_count> colours = {"#1b4f8f", "#c25a00", "#5a9bd4",
                                                             "#4d4d4d", "#8a2f6b", "#9a8500"};
  return colours[static_cast<size_t>(index % series_count)];
}

std::string series_dash(int index) {
  constexpr std::array<const char*, series_count> dashes = {"", "7 3", "2 3", "9 3 2 3", "4 2", "1 2"};
  return dashes[static_cast<size_t>(index % series_count)];
}

}  // namespace galvatron::report
