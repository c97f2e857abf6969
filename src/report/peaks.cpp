// What the machine can do at most: products of matrices in each precision, and its memory.

#include <algorithm>

#include "core/format.hpp"
#include "report/axis.hpp"
#include "report/colour.hpp"
#include "report/html.hpp"
#include "report/pictures.hpp"

namespace galvatron::report {
namespace {

using core::format;

constexpr double left = 110, width = 300, row = 30, above = 40;

/// One figure of every rank.
struct Peak {
  std::string name;
  std::vector<double> ascending;
};

struct Panel {
  std::string id, title, unit;
  double scale = 1;  ///< figure × scale is in `unit`
};

Peak peak_of(std::string name, std::vector<double> figures) {
  std::erase_if(figures, [](double figure) { return !(figure > 0); });
  std::sort(figures.begin(), figures.end());
  return {std::move(name), std::move(figures)};
}

std::string panel_of(const Panel& panel, std::vector<Peak> peaks) {
  std::erase_if(peaks, [](const Peak& peak) { return peak.ascending.empty(); });
  if (peaks.empty()) return {};
  double most = 0;
  for (const auto& peak : peaks) most = std::max(most, peak.ascending.back() * panel.scale);
  const double field = row * static_cast<double>(peaks.size());
  Svg svg(panel.id, left + width + 20, above + field + 44, panel.title,
          format("From the slowest to the fastest rank; up to {} {}.", plain_label(most), panel.unit));
  svg.text(10, 16, panel.title, {Anchor::start, 13, "#111"});
  const Plot plot(svg, {left, above, width, field},
                  {Axis::rounded(Scale::linear, 0, 1.25 * most), plain_label, panel.unit + " of a rank", 5},
                  rows_by_hand());
  for (size_t i = 0; i < peaks.size(); ++i) {
    const auto& ranks = peaks[i].ascending;
    const double y = above + row * static_cast<double>(i) + row / 2;
    const double low = ranks.front() * panel.scale, high = ranks.back() * panel.scale;
    const double middle = ranks[ranks.size() / 2] * panel.scale;
    svg.text(left - 8, y + 4, peaks[i].name, {Anchor::end, 11});
    svg.line(plot.x(low), y, plot.x(high), y, {ramp(0.5), 5});
    svg.dot(plot.x(middle), y, 5, "#fff",
            format("{}: {} to {} {}, median {}, {} ranks", peaks[i].name, plain_label(low), plain_label(high),
                   panel.unit, plain_label(middle), ranks.size()),
            "#111");
    svg.text(plot.x(high) + 10, y + 4, format("{:.4g}", middle), {Anchor::start, 11});
  }
  return svg.done();
}

}  // namespace

std::string peaks_picture(const cost::HardwareProfile& hardware) {
  std::vector<Peak> products;
  for (const auto& [dtype, figures] : hardware.gemm_peaks)
    products.push_back(peak_of(std::string(core::name(dtype)), figures));
  if (products.empty()) products.push_back(peak_of("products", hardware.gemm_flops));
  double most = 0;
  for (const auto& peak : products)
    if (!peak.ascending.empty()) most = std::max(most, peak.ascending.back());
  const bool tera = most >= 1e12;
  const auto panels =
      panel_of({"peaks-products", "Matrix products", tera ? "TFLOP/s" : "GFLOP/s", tera ? 1e-12 : 1e-9},
               std::move(products)) +
      panel_of({"peaks-memory", "Memory", "GB/s", 1e-9},
               {peak_of("read and write", hardware.memory_bytes_per_second)});
  if (panels.empty()) return {};
  return figure("<div class=\"row\">\n" + panels + "</div>\n",
                "What a rank reaches while all ranks of its node are busy alike. Rings are the median rank, "
                "lines reach from the slowest to the fastest.");
}

}  // namespace galvatron::report
