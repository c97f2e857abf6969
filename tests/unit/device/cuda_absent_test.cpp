// A build without CUDA says so, and how to get one.

#include <gtest/gtest.h>

#include "core/errors.hpp"
#include "device/device.hpp"

namespace galvatron::device {
namespace {

TEST(CudaDevice, SaysHowToGetIt) {
  try {
    make_device(DeviceKind::cuda);
    FAIL() << "a CUDA device in a build without CUDA";
  } catch (const core::UserError& error) {
    EXPECT_EQ(error.code(), core::ExitCode::environment);
    EXPECT_STREQ(error.what(), "built without CUDA (configure with GALVATRON_WITH_CUDA=ON)");
  }
}

}  // namespace
}  // namespace galvatron::device
