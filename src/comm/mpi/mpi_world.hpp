#pragma once
// MPI's world, without a device: what the factory makes for CPU ranks, and what tests of the message layer
// use.

#include <functional>
#include <memory>

#include "comm/world.hpp"

namespace galvatron::comm::mpi {

/// Which node a launcher's rank is said to be on. Ranks that are said to be on one node must really share
/// one.
using PretendedNode = std::function<int(int launcher_rank)>;

/// Collective over MPI_COMM_WORLD. Tests pretend several nodes where there is one. MPI is initialised with
/// MPI_THREAD_MULTIPLE and stays so for the world's life.
std::unique_ptr<World> make_world(const PretendedNode& pretended_node = nullptr);

}  // namespace galvatron::comm::mpi
