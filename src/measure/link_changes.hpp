#pragma once
// The link map beside an earlier one: hardware degrades between jobs, and a slow link that was slow before is
// other news than one that was not.

#include <vector>

#include "cost/profile.hpp"

namespace galvatron::measure {

/// Links whose latency or bandwidth differs by more than 10 % and by more than noise: what most samples of
/// one map took (from the least to the 95th percentile) lies outside of what those of the other took, at the
/// same size. Links are told by the hosts of their ranks, the places of the ranks on them, and the path, so
/// that maps of partly the same hosts compare too. Those that got better are named as well.
std::vector<cost::LinkChange> link_changes(const cost::HardwareProfile& now,
                                           const cost::HardwareProfile& earlier);

}  // namespace galvatron::measure
