#pragma once
// Colours that stay apart for every kind of colour vision and on a grey printer.

#include <string>

namespace galvatron::report {

/// One hue from light (0) to dark (1) in even steps of lightness (CIELAB L* 95 … 25), as "#rrggbb".
std::string ramp(double t);
/// Black or white, whichever is read more easily on ramp(t).
std::string ink_on_ramp(double t);

inline constexpr int series_count = 6;
/// Line colours of a picture: they differ in hue and in lightness.
std::string series_colour(int index);
/// Dashes to go with them, so that no line is told by its colour alone.
std::string series_dash(int index);

}  // namespace galvatron::report
