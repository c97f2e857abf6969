#pragma once
// What a device with memory of its own tells beside what every device does. The host has none: its memory is
// topology.hpp's business.

#include <cstdint>
#include <string>
#include <vector>

#include "device/device.hpp"

namespace galvatron::device {

/// What a device tells of itself at this moment; 0 where it does not say.
struct DeviceFacts {
  double clock_hz = 0;  ///< of what computes
  double memory_clock_hz = 0;
  double energy_joules = 0;          ///< since its driver was loaded
  std::vector<std::string> peers{};  ///< identities of the devices whose memory it reaches by itself
};

/// A device whose memory is not the host's. Its identity names it within its node (the PCI address).
class OwnMemory : public Device {
 public:
  /// Bytes of its memory that nobody holds.
  virtual int64_t available_bytes() const = 0;
  virtual DeviceFacts facts() const { return {}; }
};

/// Null for the host and for dry devices.
inline const OwnMemory* own_memory(const Device& device) {
  return device.kind() == DeviceKind::cuda ? static_cast<const OwnMemory*>(&device) : nullptr;
}

}  // namespace galvatron::device
