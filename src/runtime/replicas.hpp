#pragma once
// Parameters that several ranks hold are kept equal by equal updates of equal bits. A race, a bad core or a
// flipped bit breaks that without a trace in the loss, so it is looked at before anything is saved.

#include <cstdint>

#include "runtime/session.hpp"

namespace galvatron::runtime {

/// Compares weights, masters and moments that more than one rank holds, tied tables on two stages included,
/// bit for bit. Returns the bytes that this rank compared. Throws core::AgreedError (numerical) on every rank
/// naming tensor, ranks and hosts when some differ. Collective.
int64_t check_replicas(Session& session);

}  // namespace galvatron::runtime
