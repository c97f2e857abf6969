#pragma once
// From the samples of every sender to one link map that all ranks hold, and to the samples of all on rank 0.

#include <span>
#include <string>
#include <vector>

#include "comm/world.hpp"
#include "cost/profile.hpp"
#include "measure/link_bench.hpp"
#include "store/profile_file.hpp"

namespace galvatron::measure {

/// Summaries, points and fits; of a size that was visited twice the better visit counts. A link that has no
/// points in one pass was not played there; its plain figures are then those of the other pass. By (path,
/// from, to), the same on every rank. Collective.
std::vector<cost::Link> links_of_all(comm::World& world, const LinkResults& mine,
                                     const std::vector<std::string>& path_names);

/// Every sample of every rank, on rank 0; empty on the others. They travel on the first path. Collective.
store::RawTable raw_of_all(comm::World& world, const LinkResults& mine, std::span<const LinkPath> paths);

}  // namespace galvatron::measure
