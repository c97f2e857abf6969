#pragma once
// A hardware profile in words, tables and an ASCII picture. Everything comes from the profile, so a file
// shows the same as the run that wrote it.

#include <string>
#include <vector>

#include "cost/profile.hpp"

namespace galvatron::measure {

/// Ranks (rows send, columns receive) as shades from the slowest to the fastest; many ranks share a cell,
/// which then shows its worst link. One picture for bandwidth, one for latency.
std::string link_map_text(const cost::HardwareProfile& profile);

/// Links per tier (same node, across nodes): count, median and worst latency and bandwidth, alone and loaded.
std::string tier_table(const cost::HardwareProfile& profile);

/// What turns the time of a collective of n ranks over `bytes` into bus bandwidth, in the definition of the
/// widely used collective tests: all-reduce 2(n − 1)/n, all-gather, reduce-scatter and all-to-all (n − 1)/n,
/// broadcast 1, of the total size over the time.
double bus_factor(core::CollectiveKind kind, int64_t ranks);
std::string collective_table(const cost::HardwareProfile& profile);

/// Gemm peak and memory bandwidth of each rank; beyond 16 ranks the extremes and the median.
std::string peak_table(const cost::HardwareProfile& profile);

/// Memory outside the arena, part by part.
std::string reserve_table(const cost::HardwareProfile& profile);

/// Slow links, nodes and devices, a line each, and for a job under Slurm a ready --exclude= line; none when
/// nobody is slow.
std::vector<std::string> verdict_lines(const cost::HardwareProfile& profile);

/// The same as text, or a line saying that there are none.
std::string verdict_text(const cost::HardwareProfile& profile);

/// All of it, with the conditions.
std::string hardware_report(const cost::HardwareProfile& profile);

}  // namespace galvatron::measure
