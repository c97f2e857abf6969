// Robust statistics, because one slow link must not move the yardstick that finds it.
#include "measure/verdicts.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "core/format.hpp"
#include "core/units.hpp"
#include "measure/statistics.hpp"

namespace galvatron::measure {
namespace {

std::string z_text(double z) {
  return z > 999 ? "robust z > 999" : core::format("robust z {:.1f}", z);
}

/// Slow links of one tier, by index into profile.links, with the line that says so.
std::map<size_t, std::string> slow_links(const cost::HardwareProfile& profile,
                                         const std::vector<size_t>& tier) {
  std::vector<double> bandwidths, latencies;
  for (const auto i : tier) {
    bandwidths.push_back(profile.links[i].bytes_per_second);
    latencies.push_back(profile.links[i].latency_seconds);
  }
  std::map<size_t, std::string> out;
  const auto note = [&](const Outlier& o, const std::string& what) {
    const auto i = tier[static_cast<size_t>(o.index)];
    const auto& link = profile.links[i];
    auto& text = out[i];
    if (!text.empty()) {
      text += "; " + what;
      return;
    }
    text = core::format("slow link: rank {} ({}) to rank {} ({}): {}", link.from,
                        host_of(profile, node_of(profile, link.from)), link.to,
                        host_of(profile, node_of(profile, link.to)), what);
  };
  for (const auto& o : slow_ones(bandwidths, Worse::lower))
    note(o, core::format("{}/s, median {}/s, {}", core::format_bytes(static_cast<int64_t>(o.value)),
                         core::format_bytes(static_cast<int64_t>(o.median)), z_text(o.robust_z)));
  for (const auto& o : slow_ones(latencies, Worse::higher))
    note(o, core::format("latency {}, median {}, {}", core::format_seconds(o.value),
                         core::format_seconds(o.median), z_text(o.robust_z)));
  return out;
}

/// Nodes most of whose links to other nodes are slow; with two nodes there is no telling which one it is.
std::set<int64_t> slow_nodes(const cost::HardwareProfile& profile, const std::map<size_t, std::string>& slow,
                             const std::vector<size_t>& across) {
  std::map<int64_t, std::pair<int64_t, int64_t>> counts;  // slow, all
  for (const auto i : across) {
    for (const auto rank : {profile.links[i].from, profile.links[i].to}) {
      auto& [bad, all] = counts[node_of(profile, rank)];
      ++all;
      bad += slow.contains(i) ? 1 : 0;
    }
  }
  std::set<int64_t> out;
  if (counts.size() < 3) return out;
  for (const auto& [node, count] : counts)
    if (2 * count.first > count.second) out.insert(node);
  return out;
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

std::vector<Verdict> verdicts_of(const cost::HardwareProfile& profile) {
  std::vector<size_t> same, across;
  for (size_t i = 0; i < profile.links.size(); ++i) {
    const auto& link = profile.links[i];
    const bool local = node_of(profile, link.from) == node_of(profile, link.to);
    (local ? same : across).push_back(i);
  }
  auto slow = slow_links(profile, across);
  const auto nodes = slow_nodes(profile, slow, across);
  slow.merge(slow_links(profile, same));

  std::vector<Verdict> out;
  for (const auto node : nodes) {
    const auto host = host_of(profile, node);
    out.push_back(
        {SlowKind::node,
         core::format("slow node: {} (node {}): most of its links to other nodes are slow", host, node), host,
         static_cast<int32_t>(node), static_cast<int32_t>(node)});
  }
  add_slow_devices(profile, out);
  for (const auto& [i, text] : slow) {
    const auto& link = profile.links[i];
    const auto from = node_of(profile, link.from);
    const auto to = node_of(profile, link.to);
    if (from != to && (nodes.contains(from) || nodes.contains(to))) continue;
    out.push_back({SlowKind::link, text, "", link.from, link.to});
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
