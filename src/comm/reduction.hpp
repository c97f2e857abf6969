#pragma once
// Sums whose bits do not depend on the message library: the contributions are added in member order, always.

#include <cstddef>
#include <cstdint>
#include <span>

#include "comm/communicator.hpp"
#include "core/dtype.hpp"

namespace galvatron::comm {

/// out[i] = ((parts[0][i] op parts[1][i]) op parts[2][i]) … for i < count. `out` may be one of the parts.
/// With max, a NaN in any part gives NaN. dtype is f32 or f64.
void reduce_in_order(std::span<const std::byte* const> parts, std::byte* out, int64_t count,
                     core::DType dtype, ReduceOp op);

}  // namespace galvatron::comm
