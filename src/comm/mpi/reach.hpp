#pragma once
// Whether this MPI takes addresses of device memory, as it says of itself.

#include "comm/device_world.hpp"

namespace galvatron::comm::mpi {

/// After MPI was started.
Reach reach();

}  // namespace galvatron::comm::mpi
