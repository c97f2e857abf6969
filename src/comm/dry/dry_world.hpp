#pragma once
// Rank r of N, alone on one core. Nothing moves; every call is checked as the real backends check it and
// written down in a ledger, so that a whole job can be rehearsed on a login node.

#include <memory>

#include "comm/dry/ledger.hpp"
#include "comm/world.hpp"

namespace galvatron::comm::dry {

/// As make_dry_world, writing into `ledger`, which outlives the world and may be shared by all pretended
/// ranks of a job. Ranks fill the nodes in order. The control plane answers as if every other rank did the
/// same as this one: gathers repeat its value, sums are `size` times its value. abort throws core::Error with
/// the exit code.
std::unique_ptr<World> make_world(int rank, int size, int nodes, Ledger& ledger);

}  // namespace galvatron::comm::dry
