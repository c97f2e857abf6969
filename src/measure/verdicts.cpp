// Robust statistics, because one slow link must not move the yardstick that finds it.
#include "measure/verdicts.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "core/format.hpp"
#include "core/units.hpp"
#include "measure/link_figures.hpp"
#include "measure/statistics.hpp"

namespace galvatron::measure {
namespace {

std::string z_text(double z) {
  return z > 999 ? "robust z > 999" : core::format("robust z {:.1f}", z);
}

/// Links of one tier on one path, by index into profile.links.
using Links = std::vector<size_t>;
/// Slow links and what is slow about them.
using Slow = std::map<size_t, std::string>;

constexpr int64_t fewest_nodes = 3;  // with two nodes there is no telling which one it is

/// The value that a quarter of them reach.
double better_quarter(std::vector<double> values, Worse worse) {
  std::sort(values.begin(), values.end());
  if (worse == Worse::lower) std::reverse(values.begin(), values.end());
  return values[(values.size() - 1) / 4];
}

/// Nodes that fall behind the others with the better of their links.
std::set<int64_t> suspects(const cost::HardwareProfile& profile, const std::vector<Judged>& all,
                           Worse worse) {
  std::map<int64_t, std::vector<double>> ratios;
  for (const auto& j : all)
    for (const auto rank : {profile.links[j.link].from, profile.links[j.link].to})
      ratios[node_of(profile, rank)].push_back(j.ratio);
  std::vector<int64_t> nodes;
  std::vector<double> scores;
  for (const auto& [node, values] : ratios) {
    nodes.push_back(node);
    scores.push_back(better_quarter(values, worse));
  }
  std::set<int64_t> out;
  for (const auto& o : slow_ones(scores, worse)) out.insert(nodes[static_cast<size_t>(o.index)]);
  return out;
}

std::string reason(const Judged& j, const Outlier& o, cost::LinkFigure figure) {
  const double usual = j.reference * o.median;
  if (figure == cost::LinkFigure::latency)
    return core::format("latency {}, usual {}, {}", core::format_seconds(j.value),
                        core::format_seconds(usual), z_text(o.robust_z));
  return core::format("{}/s, usual {}/s, {}", core::format_bytes(static_cast<int64_t>(j.value)),
                      core::format_bytes(static_cast<int64_t>(usual)), z_text(o.robust_z));
}

/// Whether the samples leave no doubt. Half of the samples of a link that is as good as the others are faster
/// than what is usual, so a slow one has none. Small messages also wait for processors: of a late link even
/// the fastest sample must be slower than nearly all of its peers' (`tail`).
bool beyond_noise(const Judged& j, double usual, double tail, cost::LinkFigure figure) {
  return figure == cost::LinkFigure::latency ? j.best > std::max(usual, tail) : j.best < usual;
}

void add_slow_links(const cost::HardwareProfile& profile, const Links& links, cost::LinkFigure figure,
                    Slow& slow) {
  const auto worse = figure == cost::LinkFigure::latency ? Worse::higher : Worse::lower;
  const auto all = judged(profile, links, figure);
  const auto doubted = suspects(profile, all, worse);
  std::vector<double> ratios, usual, tails;
  for (const auto& j : all) {
    const auto& link = profile.links[j.link];
    ratios.push_back(j.ratio);
    if (doubted.contains(node_of(profile, link.from)) || doubted.contains(node_of(profile, link.to)))
      continue;
    usual.push_back(j.ratio);
    tails.push_back(j.tail);
  }
  if (usual.empty()) return;
  for (const auto& o : doubted.empty() ? slow_ones(ratios, worse) : slow_beside(ratios, usual, worse)) {
    const auto& j = all[static_cast<size_t>(o.index)];
    if (!beyond_noise(j, j.reference * o.median, median_of(tails), figure)) continue;
    auto& text = slow[j.link];
    text += (text.empty() ? "" : "; ") + reason(j, o, figure);
  }
}

/// Nodes most of whose links in `links` are slow, with how many.
std::map<int64_t, std::string> slow_nodes(const cost::HardwareProfile& profile, const Links& links,
                                          const Slow& slow, const char* where) {
  std::map<int64_t, std::pair<int64_t, int64_t>> counts;  // slow, all
  for (const auto i : links) {
    const auto from = node_of(profile, profile.links[i].from), to = node_of(profile, profile.links[i].to);
    for (const auto node : std::set<int64_t>{from, to}) {
      auto& [bad, all] = counts[node];
      ++all;
      bad += slow.contains(i) ? 1 : 0;
    }
  }
  std::map<int64_t, std::string> out;
  if (static_cast<int64_t>(counts.size()) < fewest_nodes) return out;
  for (const auto& [node, count] : counts)
    if (2 * count.first > count.second)
      out[node] = core::format("{} of {} links {} are slow", count.first, count.second, where);
  return out;
}

struct Findings {
  Slow slow;
  std::map<int64_t, std::string> nodes;  // slow ones, and why
};

Findings findings_of(const cost::HardwareProfile& profile) {
  std::map<std::pair<std::string, bool>, Links> groups;  // by path, and whether inside a node
  for (size_t i = 0; i < profile.links.size(); ++i) {
    const auto& link = profile.links[i];
    groups[{link.path, node_of(profile, link.from) == node_of(profile, link.to)}].push_back(i);
  }
  Findings found;
  for (const auto& [tier, links] : groups) {
    for (const auto figure : {cost::LinkFigure::bandwidth, cost::LinkFigure::latency})
      add_slow_links(profile, links, figure, found.slow);
    found.nodes.merge(slow_nodes(profile, links, found.slow, tier.second ? "inside it" : "to other nodes"));
  }
  return found;
}

void add_slow_devices(const cost::HardwareProfile& profile, std::vector<Verdict>& out) {
  for (const auto& o : slow_ones(profile.gemm_flops, Worse::lower)) {
    const auto host = host_of(profile, node_of(profile, o.index));
    out.push_back({SlowKind::device,
                   core::format("slow device: rank {} ({}): gemm {:.1f} GFLOP/s, median {:.1f} GFLOP/s, {}",
                                o.index, host, o.value * 1e-9, o.median * 1e-9, z_text(o.robust_z)),
                   host, static_cast<int32_t>(o.index), static_cast<int32_t>(o.index)});
  }
}

}  // namespace

std::string host_of(const cost::HardwareProfile& profile, int64_t node) {
  const auto i = static_cast<size_t>(node);
  return i < profile.hosts.size() ? profile.hosts[i] : "?";
}

std::vector<size_t> slow_links(const cost::HardwareProfile& profile) {
  std::vector<size_t> out;
  for (const auto& [i, why] : findings_of(profile).slow) out.push_back(i);
  return out;
}

std::vector<Verdict> verdicts_of(const cost::HardwareProfile& profile) {
  const auto [slow, nodes] = findings_of(profile);
  std::vector<Verdict> out;
  for (const auto& [node, why] : nodes) {
    const auto host = host_of(profile, node);
    out.push_back({SlowKind::node, core::format("slow node: {} (node {}): {}", host, node, why), host,
                   static_cast<int32_t>(node), static_cast<int32_t>(node)});
  }
  add_slow_devices(profile, out);
  for (const auto& [i, why] : slow) {
    const auto& link = profile.links[i];
    const auto from = node_of(profile, link.from), to = node_of(profile, link.to);
    if (nodes.contains(from) || nodes.contains(to)) continue;
    out.push_back({SlowKind::link,
                   core::format("slow link: rank {} ({}) to rank {} ({}): {}", link.from,
                                host_of(profile, from), link.to, host_of(profile, to), why),
                   "", link.from, link.to});
  }
  return out;
}

std::string exclude_option(const std::vector<Verdict>& verdicts) {
  std::set<std::string> hosts;
  for (const auto& v : verdicts)
    if (v.kind != SlowKind::link) hosts.insert(v.host);
  if (hosts.empty()) return "";
  return "--exclude=" + core::join({hosts.begin(), hosts.end()}, ",");
}

}  // namespace galvatron::measure
