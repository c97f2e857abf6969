#pragma once
// MPI's world, without a device: what the factory makes for CPU ranks, and what tests of the message layer
// use.

#include <memory>

#include "comm/world.hpp"

namespace galvatron::comm::mpi {

/// Collective over MPI_COMM_WORLD. MPI is initialised with MPI_THREAD_MULTIPLE and stays so for the world's
/// life.
std::unique_ptr<World> make_world();

}  // namespace galvatron::comm::mpi
