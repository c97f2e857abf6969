// Units leave their base form only here.
#include "measure/report.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <string_view>
#include <utility>
#include <vector>

#include "core/form.hpp"
#include "core/format.hpp"
#include "core/hyphenated.hpp"
#include "core/units.hpp"
#include "measure/link_report.hpp"
#include "measure/statistics.hpp"
#include "measure/verdicts.hpp"

namespace galvatron::measure {
namespace {

constexpr int64_t widest_map = 48;  // cells per side
constexpr std::string_view shades = ".:-=+*#%@";

std::string rate_text(double bytes_per_second) {
  if (!std::isfinite(bytes_per_second)) return "-";
  return core::format("{:.3g} GB/s", bytes_per_second * 1e-9);
}

/// The worst value per cell; absent cells stay out of the map.
using Cells = std::map<std::pair<int64_t, int64_t>, double>;

/// The last shade for the best cell, the first one for the worst, on a logarithmic scale that spans a factor
/// of two at least: small differences are to look small.
std::string picture(const Cells& cells, int64_t side, bool higher_is_better) {
  double low = std::numeric_limits<double>::infinity();
  double high = 0;
  for (const auto& [cell, value] : cells) {
    low = std::min(low, value);
    high = std::max(high, value);
  }
  const double span = std::max(std::log(high / low), std::log(2.0));
  std::string out;
  for (int64_t from = 0; from < side; ++from) {
    out += core::format("  {:>4} ", from);
    for (int64_t to = 0; to < side; ++to) {
      const auto it = cells.find({from, to});
      if (it == cells.end()) {
        out += ' ';
        continue;
      }
      const double lag = std::log(higher_is_better ? high / it->second : it->second / low) / span;
      const auto shade = std::lround((1.0 - lag) * static_cast<double>(shades.size() - 1));
      out += shades[static_cast<size_t>(shade)];
    }
    out += '\n';
  }
  return out;
}

struct Tier {
  std::string name;
  std::vector<const cost::Link*> links;
};

std::vector<Tier> tiers_of(const cost::HardwareProfile& profile) {
  std::vector<Tier> tiers = {{"same node", {}}, {"across nodes", {}}};
  for (const auto& link : profile.links)
    tiers[node_of(profile, link.from) == node_of(profile, link.to) ? 0 : 1].links.push_back(&link);
  return tiers;
}

}  // namespace

std::string link_map_text(const cost::HardwareProfile& profile) {
  if (profile.links.empty()) return "  no links measured\n";
  const int64_t group = (profile.ranks + widest_map - 1) / widest_map;
  const int64_t side = (profile.ranks + group - 1) / group;
  Cells bandwidth, latency;
  for (const auto& link : profile.links) {
    const std::pair<int64_t, int64_t> cell = {link.from / group, link.to / group};
    const double shown = std::max(link.latency_seconds, 1e-9);  // a fitted latency may be 0
    if (const auto [it, fresh] = bandwidth.try_emplace(cell, link.bytes_per_second); !fresh)
      it->second = std::min(it->second, link.bytes_per_second);
    if (const auto [it, fresh] = latency.try_emplace(cell, shown); !fresh)
      it->second = std::max(it->second, shown);
  }
  const auto range = [](const Cells& cells) {
    const auto less = [](const auto& a, const auto& b) { return a.second < b.second; };
    const auto [low, high] = std::minmax_element(cells.begin(), cells.end(), less);
    return std::pair{low->second, high->second};
  };
  const auto [slowest, fastest] = range(bandwidth);
  const auto [shortest, longest] = range(latency);
  const auto scale = core::format("'{}' worst, '{}' best", shades.front(), shades.back());
  auto out = core::format("  bandwidth {} to {}; {}; rows send{}\n", rate_text(slowest), rate_text(fastest),
                          scale, group > 1 ? core::format("; one cell = {} ranks", group) : std::string());
  out += picture(bandwidth, side, true);
  out += core::format("  latency {} to {}\n", core::format_seconds(shortest), core::format_seconds(longest));
  return out + picture(latency, side, false);
}

std::string tier_table(const cost::HardwareProfile& profile) {
  auto out = core::format("  {:<13} {:>6}  {:>10} {:>10}  {:>12} {:>12} {:>12}\n", "tier", "links", "latency",
                          "worst", "bandwidth", "worst", "loaded");
  for (const auto& tier : tiers_of(profile)) {
    if (tier.links.empty()) continue;
    std::vector<double> latency, bandwidth, loaded;
    for (const auto* link : tier.links) {
      latency.push_back(link->latency_seconds);
      bandwidth.push_back(link->bytes_per_second);
      loaded.push_back(link->loaded_bytes_per_second);
    }
    out += core::format("  {:<13} {:>6}  {:>10} {:>10}  {:>12} {:>12} {:>12}\n", tier.name, tier.links.size(),
                        core::format_seconds(median_of(latency)),
                        core::format_seconds(*std::max_element(latency.begin(), latency.end())),
                        rate_text(median_of(bandwidth)),
                        rate_text(*std::min_element(bandwidth.begin(), bandwidth.end())),
                        rate_text(median_of(loaded)));
  }
  return out;
}

double bus_factor(core::CollectiveKind kind, int64_t ranks) {
  const auto n = static_cast<double>(ranks);
  switch (kind) {
    case core::CollectiveKind::all_reduce:
      return 2.0 * (n - 1) / n;
    case core::CollectiveKind::all_gather:
    case core::CollectiveKind::reduce_scatter:
    case core::CollectiveKind::all_to_all:
      return (n - 1) / n;
    case core::CollectiveKind::broadcast:
    case core::CollectiveKind::shift:
    case core::CollectiveKind::exchange:
      break;
  }
  return 1.0;
}

std::string collective_table(const cost::HardwareProfile& profile) {
  auto out =
      core::format("  {:<15} {:>5} {:>5} {:>8}  {:>10} {:>10}  {:>12} {:>12}  {}\n", "collective", "ranks",
                   "nodes", "per node", "smallest", "largest", "time there", "bus", "form there");
  for (const auto& [key, curve] : profile.collectives) {
    if (curve.points.empty()) continue;
    const auto& last = curve.points.back();
    const auto forms = core::table_of(profile.forms, key.shape.ranks, key.shape.nodes, key.shape.per_node);
    out += core::format("  {:<15} {:>5} {:>5} {:>8}  {:>10} {:>10}  {:>12} {:>12}  {}\n",
                        core::hyphenated(core::name_of(key.kind)), key.shape.ranks, key.shape.nodes,
                        key.shape.per_node, core::format_seconds(curve.points.front().seconds),
                        core::format_bytes(static_cast<int64_t>(last.x)), core::format_seconds(last.seconds),
                        rate_text(bus_factor(key.kind, key.shape.ranks) * last.x / last.seconds),
                        core::name_of(forms.of(key.kind, static_cast<int64_t>(last.x))));
  }
  return out;
}

std::string peak_table(const cost::HardwareProfile& profile) {
  if (profile.gemm_flops.empty()) return "  no peaks measured\n";
  const auto line = [&](const std::string& name, double flops, double bandwidth) {
    return core::format("  {:<24} {:>10.1f} GFLOP/s {:>14}\n", name, flops * 1e-9, rate_text(bandwidth));
  };
  std::string out;
  const auto& flops = profile.gemm_flops;
  const auto& bandwidth = profile.memory_bytes_per_second;
  if (flops.size() <= 16) {
    for (size_t r = 0; r < flops.size(); ++r) {
      const auto rank = static_cast<int64_t>(r);
      out += line(core::format("rank {} ({})", r, host_of(profile, node_of(profile, rank))), flops[r],
                  r < bandwidth.size() ? bandwidth[r] : std::numeric_limits<double>::infinity());
    }
  } else {
    out += line("slowest", *std::min_element(flops.begin(), flops.end()),
                *std::min_element(bandwidth.begin(), bandwidth.end()));
    out += line("median", median_of(flops), median_of(bandwidth));
    out += line("fastest", *std::max_element(flops.begin(), flops.end()),
                *std::max_element(bandwidth.begin(), bandwidth.end()));
  }
  for (const auto& [dtype, peaks] : profile.gemm_peaks)
    out += core::format("  {:<24} {:>10.1f} GFLOP/s, median of the ranks\n",
                        core::format("products in {}", core::name(dtype)), median_of(peaks) * 1e-9);
  return out;
}

std::string reserve_table(const cost::HardwareProfile& profile) {
  auto out = core::format("  {:<24} {:>10} per rank\n", "reserve", core::format_bytes(profile.reserve_bytes));
  const auto line = [&](const std::string& name, int64_t bytes) {
    out += core::format("    {:<22} {:>10}\n", name, core::format_bytes(bytes));
  };
  for (const auto& [part, bytes] : profile.reserve_parts) line(part, bytes);
  const auto& units = profile.reserve_units;
  if (units == cost::ReserveUnits{}) return out;
  out += "  and what a plan adds, for each\n";
  line("group of ranks", units.communicator);
  line("member of a window", units.window_member);
  line("thread that talks", units.thread);
  return out;
}

std::vector<std::string> verdict_lines(const cost::HardwareProfile& profile) {
  const auto verdicts = verdicts_of(profile);
  std::vector<std::string> lines;
  for (const auto& v : verdicts) lines.push_back(v.text);
  // Where there is no Slurm, nobody reads its options.
  const auto exclude = profile.conditions.contains(slurm_condition) ? exclude_option(verdicts) : "";
  if (!exclude.empty()) lines.push_back("to leave them out under Slurm: " + exclude);
  return lines;
}

std::string verdict_text(const cost::HardwareProfile& profile) {
  std::string out;
  for (const auto& line : verdict_lines(profile)) out += "  " + line + "\n";
  return out.empty() ? "  no slow link, node or device\n" : out;
}

std::string hardware_report(const cost::HardwareProfile& profile) {
  std::string out = core::format("hardware: {} ranks on {} nodes, {} threads per rank{}\n", profile.ranks,
                                 profile.nodes, profile.threads, profile.nominal ? " (nominal figures)" : "");
  for (const auto& [name, value] : profile.conditions) out += core::format("  {:<24} {}\n", name, value);
  out += "links\n" + link_map_text(profile);
  if (!profile.links.empty()) out += tier_table(profile);
  out += link_coverage_text(profile) + link_changes_text(profile);
  if (!profile.collectives.empty()) out += "collectives\n" + collective_table(profile);
  out += "peaks\n" + peak_table(profile);
  out += "memory outside the arena\n" + reserve_table(profile);
  return out + "slow ones\n" + verdict_text(profile);
}

}  // namespace galvatron::measure
