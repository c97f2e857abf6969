// Memory of a rank that no plan can use: what was measured outside the arena.

#include <algorithm>

#include "core/format.hpp"
#include "core/units.hpp"
#include "report/axis.hpp"
#include "report/colour.hpp"
#include "report/html.hpp"
#include "report/pictures.hpp"

namespace galvatron::report {
namespace {

using core::format;

constexpr size_t most_rows = 24;
constexpr double row = 24, left = 250, width = 560, above = 20;

std::string caption_of(const cost::HardwareProfile& hardware) {
  auto caption = format("Memory of a rank outside the arena: {} whatever the plan.",
                        core::format_bytes(hardware.reserve_bytes));
  const auto& units = hardware.reserve_units;
  if (units != cost::ReserveUnits{})
    caption += format(
        " A plan adds {} for each group of ranks, {} for each member of a window and {} for each "
        "thread that talks.",
        core::format_bytes(units.communicator), core::format_bytes(units.window_member),
        core::format_bytes(units.thread));
  return caption;
}

}  // namespace

std::string reserve_picture(const cost::HardwareProfile& hardware) {
  std::vector<std::pair<std::string, int64_t>> parts;
  for (const auto& part : hardware.reserve_parts)
    if (part.second > 0) parts.push_back(part);
  if (parts.empty()) return {};
  std::stable_sort(parts.begin(), parts.end(),
                   [](const auto& a, const auto& b) { return a.second > b.second; });
  parts.resize(std::min(parts.size(), most_rows));
  const double mib = static_cast<double>(core::mib);
  const double most = static_cast<double>(parts.front().second) / mib;
  const double field = row * static_cast<double>(parts.size());
  Svg svg("reserve", left + width + 30, above + field + 44, "Memory outside the arena",
          format("{} parts as bars; {} in all.", parts.size(), core::format_bytes(hardware.reserve_bytes)));
  const Plot plot(svg, {left, above, width, field},
                  {Axis::rounded(Scale::linear, 0, 1.15 * most), plain_label, "MiB per rank", 6},
                  rows_by_hand());
  for (size_t i = 0; i < parts.size(); ++i) {
    const auto& [name, bytes] = parts[i];
    const double y = above + row * static_cast<double>(i);
    const double end = plot.x(static_cast<double>(bytes) / mib);
    svg.text(left - 8, y + row / 2 + 3, fitted(name, left - 16, 11), {Anchor::end, 11});
    svg.rect({left, y + 4, std::max(0.5, end - left), row - 8}, ramp(0.5),
             format("{}: {}", name, core::format_bytes(bytes)), "#333");
    svg.text(end + 8, y + row / 2 + 3, core::format_bytes(bytes), {Anchor::start, 11});
  }
  return figure(svg.done(), caption_of(hardware));
}

}  // namespace galvatron::report
