#pragma once
// A group that does some of its collectives in another form than the direct one.

#include <memory>
#include <vector>

#include "comm/mpi/mpi_communicator.hpp"
#include "core/form.hpp"

namespace galvatron::comm::mpi {

/// Collective over the members of `direct`. `node_of[i]` is the node of member i. Throws core::InternalError
/// when a row of `forms` names a form that this group cannot have; `direct` itself when no row names another
/// form.
std::unique_ptr<Communicator> with_forms(std::unique_ptr<MpiCommunicator> direct, const Group& group,
                                         const std::vector<int>& node_of, const core::FormTable& forms,
                                         const Limits& limits = {});

}  // namespace galvatron::comm::mpi
