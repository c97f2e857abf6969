#pragma once
// One call of a collective on flat buffers of f32: what benches repeat.

#include <cstddef>
#include <cstdint>

#include "comm/communicator.hpp"
#include "core/compute.hpp"

namespace galvatron::measure {

/// Elements of the whole tensor for about `bytes`: a multiple of the group's size, at least one each.
int64_t elements_for(int64_t bytes, int64_t ranks);

/// `elements` f32 of the whole (gathered, unreduced, reduced, passed on) tensor in each buffer. Returns when
/// it is done. Throws core::InternalError for an exchange, which has no one shape.
void call(comm::Communicator& group, core::CollectiveKind kind, std::byte* in, std::byte* out,
          int64_t elements);

}  // namespace galvatron::measure
