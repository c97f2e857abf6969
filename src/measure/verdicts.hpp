#pragma once
// Who is slow: links among links of their tier and path, nodes when most of their links are, devices by their
// gemm.

#include <cstdint>
#include <string>
#include <vector>

#include "cost/profile.hpp"

namespace galvatron::measure {

/// Condition of a profile that was measured in a Slurm job: its number.
constexpr const char* slurm_condition = "slurm job";

enum class SlowKind { link, node, device };

struct Verdict {
  SlowKind kind = SlowKind::link;
  std::string text;          ///< one line with ranks, hosts, the value, the median and the robust z
  std::string host;          ///< of the slow node or device; empty for a link
  int32_t from = 0, to = 0;  ///< the link; for a device `from` is its rank, for a node its index
};

/// A link that is slow because its node is does not appear by itself. Order: nodes, devices, links. In a job
/// of a few nodes the links of one slow node are no outliers among all links; so nodes are compared first, by
/// the better of their links, and those that fall behind do not count when it is said what is usual.
std::vector<Verdict> verdicts_of(const cost::HardwareProfile& profile);

/// Slow links, those of slow nodes among them, as indices into profile.links.
std::vector<size_t> slow_links(const cost::HardwareProfile& profile);

/// "--exclude=host3,host7" for the hosts of slow nodes and devices; empty when there are none.
std::string exclude_option(const std::vector<Verdict>& verdicts);

using cost::node_of;

/// The host of a node, "?" when unknown.
std::string host_of(const cost::HardwareProfile& profile, int64_t node);

}  // namespace galvatron::measure
