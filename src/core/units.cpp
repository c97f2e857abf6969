// Reading and writing of sizes and times. Numbers are parsed by hand and not through the locale, so that a
// deck means the same everywhere.
#include "core/units.hpp"

#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "core/errors.hpp"
#include "core/format.hpp"

namespace galvatron::core {
namespace {

std::string_view trimmed(std::string_view text) {
  const auto first = text.find_first_not_of(" \t");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

/// Three significant digits without an exponent.
std::string three_digits(double value) {
  const int decimals = value < 9.995 ? 2 : value < 99.95 ? 1 : 0;
  return format("{:.{}f}", value, decimals);
}

struct Amount {
  double value;
  std::string_view unit;
};

/// Splits "1.5 GiB" into number and unit; false where no finite number of at least 0 comes first.
bool split_amount(std::string_view text, Amount& out) {
  text = trimmed(text);
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out.value);
  if (error != std::errc() || !std::isfinite(out.value) || std::signbit(out.value)) return false;
  out.unit = trimmed(text.substr(static_cast<size_t>(end - text.data())));
  return true;
}

/// "1-12:00:00", "12:30:00", "30:00"; false where the text is not of that form.
bool parse_clock(std::string_view text, double& seconds) {
  text = trimmed(text);
  double days = 0.0;
  if (const auto dash = text.find('-'); dash != std::string_view::npos) {
    int64_t count = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + dash, count);
    if (error != std::errc() || end != text.data() + dash || count < 0) return false;
    days = static_cast<double>(count);
    text = text.substr(dash + 1);
  }
  std::vector<int64_t> fields;
  while (true) {
    const auto colon = std::min(text.find(':'), text.size());
    int64_t field = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + colon, field);
    if (error != std::errc() || end != text.data() + colon || field < 0) return false;
    fields.push_back(field);
    if (colon == text.size()) break;
    text = text.substr(colon + 1);
  }
  if (fields.size() < 2 || fields.size() > 3) return false;
  seconds = 0.0;
  for (const int64_t field : fields) seconds = 60.0 * seconds + static_cast<double>(field);
  seconds += 86400.0 * days;
  return true;
}

}  // namespace

std::string format_bytes(int64_t bytes) {
  if (bytes < 0)
    return "-" + format_bytes(bytes == std::numeric_limits<int64_t>::min() ? -(bytes + 1) : -bytes);
  if (bytes < kib) return format("{} B", bytes);
  double value = static_cast<double>(bytes);
  const std::array units = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  size_t unit = 0;
  while (value >= 1023.5 && unit + 1 < units.size()) {
    value /= 1024.0;
    ++unit;
  }
  return three_digits(value) + " " + units[unit];
}

std::string format_seconds(double seconds) {
  if (!std::isfinite(seconds)) return format("{} s", seconds);
  if (seconds < 0.0) return "-" + format_seconds(-seconds);
  if (seconds == 0.0) return "0 s";
  if (seconds < 0.9995e-6) return three_digits(seconds * 1e9) + " ns";
  if (seconds < 0.9995e-3) return three_digits(seconds * 1e6) + " us";
  if (seconds < 0.9995) return three_digits(seconds * 1e3) + " ms";
  if (seconds < 99.95) return three_digits(seconds) + " s";
  const auto whole = static_cast<int64_t>(std::llround(seconds));
  if (whole < 3600) return format("{} min {:02} s", whole / 60, whole % 60);
  return format("{} h {:02} min", whole / 3600, whole % 3600 / 60);
}

int64_t parse_bytes(std::string_view text) {
  static constexpr std::array<std::pair<std::string_view, double>, 16> units = {{{"", 1.0},
                                                                                 {"B", 1.0},
                                                                                 {"KiB", 0x1p10},
                                                                                 {"MiB", 0x1p20},
                                                                                 {"GiB", 0x1p30},
                                                                                 {"TiB", 0x1p40},
                                                                                 {"PiB", 0x1p50},
                                                                                 {"kB", 1e3},
                                                                                 {"KB", 1e3},
                                                                                 {"MB", 1e6},
                                                                                 {"GB", 1e9},
                                                                                 {"TB", 1e12},
                                                                                 {"PB", 1e15},
                                                                                 {"K", 0x1p10},
                                                                                 {"M", 0x1p20},
                                                                                 {"G", 0x1p30}}};
  Amount amount{};
  if (split_amount(text, amount)) {
    for (const auto& [name, factor] : units) {
      const double bytes = std::floor(amount.value * factor + 0.5);
      if (amount.unit == name && bytes < 0x1p63) return static_cast<int64_t>(bytes);
    }
  }
  throw UserError(format("'{}' is not a size (like 4096, 1 MiB, 2.5 GiB, 200 MB)", text));
}

double parse_seconds(std::string_view text) {
  static constexpr std::array<std::pair<std::string_view, double>, 10> units = {{{"", 1.0},
                                                                                 {"s", 1.0},
                                                                                 {"us", 1e-6},
                                                                                 {"ms", 1e-3},
                                                                                 {"min", 60.0},
                                                                                 {"m", 60.0},
                                                                                 {"h", 3600.0},
                                                                                 {"d", 86400.0},
                                                                                 {"days", 86400.0},
                                                                                 {"ns", 1e-9}}};
  double seconds = 0.0;
  if (parse_clock(text, seconds)) return seconds;
  Amount amount{};
  if (split_amount(text, amount)) {
    for (const auto& [name, factor] : units) {
      if (amount.unit == name) return amount.value * factor;
    }
  }
  throw UserError(format("'{}' is not a time (like 90, 30 min, 1.5 h, 12:30:00)", text));
}

}  // namespace galvatron::core
