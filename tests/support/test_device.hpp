#pragma once
// The device that tests of training run on: the CPU, or what GALVATRON_TEST_DEVICE=cuda finds, so that one
// suite serves all.

#include <cstdlib>
#include <memory>
#include <string_view>

#include "comm/device_world.hpp"
#include "device/device.hpp"

namespace galvatron::testing {

inline device::DeviceKind tested_kind() {
  const char* text = std::getenv("GALVATRON_TEST_DEVICE");
  return text != nullptr && std::string_view(text) == "cuda" ? device::DeviceKind::cuda
                                                             : device::DeviceKind::cpu;
}

/// One per process: contexts of a device are not for nothing.
inline device::Device& tested_device() {
  static const auto device = [] {
    const char* local = std::getenv("OMPI_COMM_WORLD_LOCAL_RANK");
    return device::make_device(tested_kind(), local == nullptr ? 0 : std::atoi(local));
  }();
  return *device;
}

/// Ranks may share a device.
inline std::unique_ptr<comm::World> tested_world() {
  return comm::make_mpi_world(tested_device(), comm::SharedDevices::staged);
}

}  // namespace galvatron::testing
