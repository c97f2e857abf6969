#pragma once
// Who is slow: links among links of their tier, nodes when most of their links are, devices by their gemm.

#include <cstdint>
#include <string>
#include <vector>

#include "cost/profile.hpp"

namespace galvatron::measure {

enum class SlowKind { link, node, device };

struct Verdict {
  SlowKind kind = SlowKind::link;
  std::string text;          ///< one line with ranks, hosts, the value, the median and the robust z
  std::string host;          ///< of the slow node or device; empty for a link
  int32_t from = 0, to = 0;  ///< the link; for a device `from` is its rank, for a node its index
};

/// A link that is slow because its node is does not appear by itself. Order: nodes, devices, links.
std::vector<Verdict> verdicts_of(const cost::HardwareProfile& profile);

/// "--exclude=host3,host7" for the hosts of slow nodes and devices; empty when there are none.
std::string exclude_option(const std::vector<Verdict>& verdicts);

using cost::node_of;

/// The host of a node, "?" when unknown.
std::string host_of(const cost::HardwareProfile& profile, int64_t node);

}  // namespace galvatron::measure
