// What computing and talking at the same time cost each other.

#include <algorithm>

#include "core/form.hpp"
#include "core/format.hpp"
#include "core/hyphenated.hpp"
#include "core/units.hpp"
#include "report/axis.hpp"
#include "report/colour.hpp"
#include "report/html.hpp"
#include "report/pictures.hpp"

namespace galvatron::report {
namespace {

using core::format;

constexpr size_t most_rows = 40;
constexpr double row = 20, left = 310, width = 520, above = 40;

double harm_of(const cost::Interference& pair) {
  return std::max(pair.compute, pair.collective);
}

/// All in the order of the profile, or those that hurt most.
std::vector<const cost::Interference*> shown_of(const std::vector<cost::Interference>& all) {
  std::vector<const cost::Interference*> rows;
  for (const auto& pair : all) rows.push_back(&pair);
  if (rows.size() <= most_rows) return rows;
  std::stable_sort(rows.begin(), rows.end(),
                   [](const auto* a, const auto* b) { return harm_of(*a) > harm_of(*b); });
  rows.resize(most_rows);
  std::sort(rows.begin(), rows.end());  // back into their order
  return rows;
}

std::string factor_label(double factor) {
  return format("× {:.3g}", factor);
}

}  // namespace

std::string interference_picture(const cost::HardwareProfile& hardware) {
  const auto rows = shown_of(hardware.interference);
  if (rows.empty()) return {};
  double most = 1;
  for (const auto* pair : rows) most = std::max(most, harm_of(*pair));
  const double field = row * static_cast<double>(rows.size());
  Svg svg("interference", left + width + 30, above + field + 44, "Computing and talking at the same time",
          format("Slow-down of a matrix product beside each collective and of the collective beside the "
                 "product; up to a factor of {:.3g}.",
                 most));
  const Plot plot(svg, {left, above, width, field},
                  {Axis(Scale::logarithmic, 0.95, std::max(2.0, 1.1 * most)), factor_label,
                   "time beside the other, of the time alone", 6, 2},
                  rows_by_hand());
  for (size_t i = 0; i < rows.size(); ++i) {
    const auto& pair = *rows[i];
    const double y = above + row * static_cast<double>(i) + row / 2;
    const auto name = format("{}, {}, {}", core::hyphenated(core::name_of(pair.kind)), text_of(pair.shape),
                             bytes_label(pair.bytes));
    svg.text(left - 8, y + 4, fitted(name, left - 16, 11), {Anchor::end, 11});
    const double compute = plot.x(std::max(1.0, pair.compute)), talk = plot.x(std::max(1.0, pair.collective));
    svg.line(compute, y, talk, y, {"#999", 1});
    svg.dot(compute, y, 4.5, ramp(0.75), format("{}: product {}", name, factor_label(pair.compute)), "#111");
    svg.dot(talk, y, 4.5, "#fff", format("{}: collective {}", name, factor_label(pair.collective)),
            "#c25a00");
  }
  auto caption = std::string(
      "Dark dots: a matrix product while the collective runs. Rings: the collective "
      "meanwhile. 1 is no harm.");
  if (rows.size() < hardware.interference.size())
    caption += format(" The {} worst of {} are shown.", rows.size(), hardware.interference.size());
  return figure(svg.done(), caption);
}

}  // namespace galvatron::report
