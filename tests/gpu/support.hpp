#pragma once
// The device of a GPU test, or the reason why there is none.

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "core/errors.hpp"
#include "device/device.hpp"

namespace galvatron::test {

struct MaybeDevice {
  std::unique_ptr<device::Device> device;
  std::string reason;  ///< why `device` is null
};

inline MaybeDevice cuda_device(int local_rank = 0) {
  try {
    return {device::make_device(device::DeviceKind::cuda, local_rank), {}};
  } catch (const core::UserError& error) {
    return {nullptr, std::string("no CUDA device: ") + error.what()};
  }
}

}  // namespace galvatron::test
