#pragma once
// Under which conditions what was measured holds again, part by part: the machine's figures for the same
// ranks on the same hosts, the steps' for the same processor and kernels.

#include <string>

#include "comm/world.hpp"
#include "cost/profile.hpp"
#include "device/device.hpp"
#include "measure/request.hpp"

namespace galvatron::measure {

/// Of links, collectives, interference, peaks and memory. Not collective.
std::string hardware_fingerprint(const comm::World& world, const device::Device& device,
                                 const Request& request);
/// Of steps: hosts may change when the processor stays. `processor` is the same text on every rank.
std::string steps_fingerprint(const comm::World& world, const device::Device& device, const Request& request,
                              const std::string& processor);
/// Of the whole profile: nothing that changes between two runs of the same job.
std::string fingerprint_of(const comm::World& world, const device::Device& device, const Request& request,
                           const std::string& processor);

/// What an earlier profile still says here; the rest is empty. `kept` tells which parts, in words.
struct Kept {
  cost::Profile profile;
  std::string parts;
};
Kept still_valid(const cost::Profile& earlier, const std::string& hardware, const std::string& steps);

}  // namespace galvatron::measure
