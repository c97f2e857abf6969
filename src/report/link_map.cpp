// Heat maps: rows send, columns receive, dark is better. The scale is logarithmic and spans a factor of two
// at least, so that small differences look small.

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <optional>

#include "core/format.hpp"
#include "report/axis.hpp"
#include "report/colour.hpp"
#include "report/html.hpp"
#include "report/pictures.hpp"

namespace galvatron::report {
namespace {

using core::format;

constexpr int64_t widest = 32;  // cells per side
constexpr double panel = 222;   // pixels per side of a map: three fit beside each other

/// How ranks share cells: first of each cell, and what it is called.
struct Cells {
  std::vector<int64_t> cell_of;  ///< per rank
  std::vector<std::string> names;
  std::string meaning;  ///< of one cell

  explicit Cells(const cost::HardwareProfile& hardware) : cell_of(static_cast<size_t>(hardware.ranks)) {
    const bool by_node = hardware.ranks > widest && hardware.nodes > 1;
    const int64_t units = by_node ? hardware.nodes : hardware.ranks;
    const int64_t group = (units + widest - 1) / widest;
    const std::string unit = by_node ? "node" : "rank";
    for (int64_t rank = 0; rank < hardware.ranks; ++rank)
      cell_of[static_cast<size_t>(rank)] = (by_node ? cost::node_of(hardware, rank) : rank) / group;
    for (int64_t first = 0; first < units; first += group) {
      const auto last = std::min(units, first + group) - 1;
      const bool named = by_node && group == 1 && first < static_cast<int64_t>(hardware.hosts.size());
      names.push_back(named           ? hardware.hosts[static_cast<size_t>(first)]
                      : first == last ? format("{}", first)
                                      : format("{}–{}", first, last));
    }
    meaning = group == 1 ? unit : format("{} {}s", group, unit);
  }
  int64_t side() const { return static_cast<int64_t>(names.size()); }
};

enum class Better { higher, lower };

struct Map {
  std::string title, unit;
  Better better = Better::higher;
  double (*value)(const cost::Link& link);
  Label label;
};

using Values = std::map<std::pair<int64_t, int64_t>, double>;

Values worst_of(const cost::HardwareProfile& hardware, const Cells& cells, const Map& map) {
  Values values;
  for (const auto& link : hardware.links) {
    const double value = map.value(link);
    if (!(value > 0) || !std::isfinite(value)) continue;
    const auto cell =
        std::pair(cells.cell_of[static_cast<size_t>(link.from)], cells.cell_of[static_cast<size_t>(link.to)]);
    const auto [it, fresh] = values.try_emplace(cell, value);
    if (!fresh)
      it->second = map.better == Better::higher ? std::min(it->second, value) : std::max(it->second, value);
  }
  return values;
}

/// The scale of the map as a strip, worst on the left.
void draw_legend(Svg& svg, double x, double y, const Map& map, double low, double high) {
  constexpr int steps = 24;
  const double width = panel * 0.74;
  for (int i = 0; i < steps; ++i)
    svg.rect({x + width * i / steps, y, width / steps + 0.5, 10}, ramp((i + 0.5) / steps));
  const double worst = map.better == Better::higher ? low : high;
  const double best = map.better == Better::higher ? high : low;
  svg.text(x, y + 24, map.label(worst), {Anchor::start, 11});
  svg.text(x + width / 2, y + 24, map.label(std::sqrt(low * high)), {Anchor::middle, 11});
  svg.text(x + width, y + 24, map.label(best) + " " + map.unit, {Anchor::middle, 11});
}

/// Every so many cells have a name.
int64_t named_every(double cell) {
  return std::max<int64_t>(1, static_cast<int64_t>(std::ceil(15 / cell)));
}

/// Whether the names stand level above their columns.
bool fits(const Cells& cells, double cell) {
  const double room = cell * static_cast<double>(named_every(cell)) - 2;
  return std::all_of(cells.names.begin(), cells.names.end(),
                     [&](const std::string& name) { return width_of(name, 11) <= room; });
}

void draw_names(Svg& svg, double x, double y, double cell, const Cells& cells) {
  const auto every = named_every(cell);
  const bool level = fits(cells, cell);
  for (int64_t i = 0; i < cells.side(); i += every) {
    const auto& name = cells.names[static_cast<size_t>(i)];
    const double middle = (static_cast<double>(i) + 0.5) * cell;
    svg.text(x - 5, y + middle + 4, fitted(name, 54, 11), {Anchor::end, 11});
    if (level)
      svg.text(x + middle, y - 5, name, {Anchor::middle, 11});
    else
      svg.text(x + middle + 3, y - 5, fitted(name, 60, 11), {Anchor::start, 11, "#222", -50});
  }
}

std::string draw(const cost::HardwareProfile& hardware, const Cells& cells, const Map& map,
                 const std::string& id) {
  const auto values = worst_of(hardware, cells, map);
  if (values.empty()) return {};
  double low = std::numeric_limits<double>::infinity(), high = 0;
  for (const auto& [cell, value] : values) low = std::min(low, value), high = std::max(high, value);
  const double span = std::max(2.0, high / low), middle = std::sqrt(low * high);
  const double bottom = middle / std::sqrt(span), top = middle * std::sqrt(span);
  const double cell = panel / static_cast<double>(cells.side()), left = 62;
  const double above = fits(cells, cell) ? 40 : 78;
  Svg svg(id, left + panel + 16, above + panel + 48, map.title,
          format("Rows send, columns receive. {} pairs; from {} to {} {}.", values.size(), map.label(low),
                 map.label(high), map.unit));
  svg.text(left, 14, map.title, {Anchor::start, 13, "#111"});
  draw_names(svg, left, above, cell, cells);
  svg.rect({left, above, panel, panel}, "#f4f4f4");
  for (const auto& [place, value] : values) {
    const auto [from, to] = place;
    const double share = std::log(value / bottom) / std::log(top / bottom);
    const double t = map.better == Better::higher ? share : 1 - share;
    const Box box{left + static_cast<double>(to) * cell, above + static_cast<double>(from) * cell, cell,
                  cell};
    svg.rect(box, ramp(t),
             format("{} → {}: {} {}", cells.names[static_cast<size_t>(from)],
                    cells.names[static_cast<size_t>(to)], map.label(value), map.unit),
             "#fff");
    if (cell >= 27)
      svg.text(box.x + cell / 2, box.y + cell / 2 + 4, map.label(value),
               {Anchor::middle, cell >= 40 ? 11.0 : 10.0, ink_on_ramp(t)});
  }
  draw_legend(svg, left, above + panel + 14, map, bottom, top);
  return svg.done();
}

}  // namespace

std::string link_maps(const cost::HardwareProfile& hardware) {
  if (hardware.links.empty()) return {};
  const Cells cells(hardware);
  const Map isolated{"Bandwidth, one pair alone", "GB/s", Better::higher,
                     [](const cost::Link& link) { return link.bytes_per_second; }, gigabytes_label};
  const Map loaded{"Bandwidth, all pairs at once", "GB/s", Better::higher,
                   [](const cost::Link& link) { return link.loaded_bytes_per_second; }, gigabytes_label};
  // A fitted latency may be 0, which has no logarithm.
  const Map latency{"Latency", "µs", Better::lower,
                    [](const cost::Link& link) { return std::max(link.latency_seconds, 1e-9); },
                    [](double seconds) {
                      return seconds < 1e-4 ? format("{:.3g}", seconds * 1e6)
                                            : format("{:.0f}", seconds * 1e6);
                    }};
  const auto maps = draw(hardware, cells, isolated, "map-isolated") +
                    draw(hardware, cells, loaded, "map-loaded") +
                    draw(hardware, cells, latency, "map-latency");
  return figure(
      "<div class=\"row\">\n" + maps + "</div>\n",
      format("Links between ranks. Rows send, columns receive; dark is better; a row or column is "
             "{}{}. An empty cell was not measured.",
             cells.meaning == "rank" || cells.meaning == "node" ? "one " + cells.meaning : cells.meaning,
             cells.side() == hardware.ranks ? "" : ", and a cell shows its worst link"));
}

}  // namespace galvatron::report
