#pragma once
// What a profile tells of devices beside their times: how fast their memory travels to the host's and back,
// who reaches whose memory, at which clocks they ran.

#include "comm/world.hpp"
#include "cost/profile.hpp"
#include "device/device.hpp"

namespace galvatron::measure {

/// Sets `profile.conditions`: "device", "staging" (slowest rank), "peer access", "device clocks" (lowest of
/// all ranks). Nothing for devices that are the host. Collective.
void describe_devices(comm::World& world, device::Device& device, cost::HardwareProfile& profile);

}  // namespace galvatron::measure
