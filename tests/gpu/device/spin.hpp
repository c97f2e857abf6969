#pragma once
// Work that takes time: what an event or a wait is worth shows only beside something slow.

#include "device/device.hpp"

namespace galvatron::test {

/// Keeps `stream` of a CUDA device busy for about `seconds`, then writes `value` to `out` (device memory, may
/// be null).
void spin(device::Stream& stream, double seconds, int* out, int value);

}  // namespace galvatron::test
