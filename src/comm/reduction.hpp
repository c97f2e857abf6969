#pragma once
// Sums whose bits do not depend on the message library: the contributions are added in member order, always.

#include <cstddef>
#include <cstdint>
#include <span>

#include "comm/communicator.hpp"
#include "core/dtype.hpp"

namespace galvatron::comm {

/// out[i] = ((parts[0][i] op parts[1][i]) op parts[2][i]) … for i < count. `out` may be one of the parts.
/// With max, a NaN in any part gives NaN. dtype is f32, f64, bf16 or f16; the last two are reduced in f32 and
/// rounded once at the end. Throws core::InternalError for any other.
void reduce_in_order(std::span<const std::byte* const> parts, std::byte* out, int64_t count,
                     core::DType dtype, ReduceOp op);

}  // namespace galvatron::comm
