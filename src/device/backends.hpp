#pragma once
// The makers of the three kinds of device, for the factory alone. Which file stands behind `make_cuda_device`
// is the build's choice.

#include <memory>

#include "device/device.hpp"

namespace galvatron::device {

std::unique_ptr<Device> make_cpu_device();
std::unique_ptr<Device> make_dry_device();
/// Throws core::UserError (environment) in a build without CUDA, and where there is no device.
std::unique_ptr<Device> make_cuda_device(int local_rank);

}  // namespace galvatron::device
