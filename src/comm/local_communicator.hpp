#pragma once
// A group of one rank: every collective is a copy at most. It costs no resources of the message library, and
// programs need no special case for a degree of 1.

#include <memory>

#include "comm/communicator.hpp"
#include "comm/group.hpp"

namespace galvatron::comm {

/// `group` has one member. Operands are in the memory of `device`, which outlives it; without one they are in
/// host memory, or absent (null) in dry runs.
std::unique_ptr<Communicator> make_local_communicator(Group group, device::Device* device = nullptr);

}  // namespace galvatron::comm
