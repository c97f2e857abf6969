#pragma once
// Memory that a plan takes besides its arena and what every plan takes: groups of ranks, the shared memory
// they talk through, threads that talk. And which forms of collectives its groups have, on which that
// depends.

#include <cstdint>
#include <vector>

#include "cost/profile.hpp"
#include "plan/plan.hpp"
#include "spec/cluster.hpp"
#include "spec/model.hpp"

namespace galvatron::cost {

/// The rows of `forms` that are about groups of this plan on this cluster.
std::vector<core::FormChoice> forms_of(const plan::Plan& plan, const spec::ModelSpec& model,
                                       const std::vector<core::FormChoice>& forms,
                                       const spec::ClusterSpec& cluster);

/// Bytes of the fullest member of each pipeline rank. Windows count whole, though short messages leave some
/// of their pages untouched.
std::vector<int64_t> group_reserve(const plan::Plan& plan, const spec::ModelSpec& model,
                                   const ReserveUnits& units, const spec::ClusterSpec& cluster);

/// No plan whose stages have so many ranks holds less.
int64_t least_group_reserve(const ReserveUnits& units, int64_t ranks_per_stage);

}  // namespace galvatron::cost
