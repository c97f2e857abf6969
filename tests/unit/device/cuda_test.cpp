// What of the CUDA back end can be tested without a device: errors, handles, and the management library
// against a made-up one.

#include <gtest/gtest.h>

#include "core/errors.hpp"
#include "device/cuda/check.hpp"
#include "device/cuda/nvml.hpp"
#include "device/cuda/waiter.hpp"
#include "device/device.hpp"

namespace galvatron::device::cuda {
namespace {

TEST(Check, GivesEachErrorItsType) {
  GALV_CUDA(cudaSuccess);
  EXPECT_THROW(GALV_CUDA(cudaErrorMemoryAllocation), core::ResourceError);
  EXPECT_THROW(GALV_CUDA(cudaErrorLaunchFailure), core::InternalError);
  try {
    GALV_CUDA(cudaErrorNoDevice);
    FAIL() << "no device is no error";
  } catch (const core::UserError& error) {
    EXPECT_EQ(error.code(), core::ExitCode::environment);
    EXPECT_NE(std::string(error.what()).find("cudaErrorNoDevice"), std::string::npos) << error.what();
  }
}

TEST(MakeDevice, GivesADeviceOrSaysWhyNot) {
  try {
    EXPECT_EQ(make_device(DeviceKind::cuda)->kind(), DeviceKind::cuda);
  } catch (const core::UserError& error) {
    EXPECT_EQ(error.code(), core::ExitCode::environment);
    EXPECT_NE(std::string(error.what()).find("cudaGetDeviceCount failed: "), std::string::npos)
        << error.what();
  }
}

TEST(Waiter, AsksUntilDone) {
  Waiter waiter;
  int questions = 0;
  int polls = 0;
  waiter.set_poll([&] { ++polls; });
  waiter.until([&] { return ++questions < 100 ? cudaErrorNotReady : cudaSuccess; });
  EXPECT_EQ(questions, 100);
  EXPECT_GT(polls, 0);
}

TEST(Waiter, EndsWithTheErrorOfTheDeviceOrOfThePoll) {
  Waiter waiter;
  EXPECT_THROW(waiter.until([] { return cudaErrorLaunchFailure; }), core::InternalError);
  waiter.set_poll([] { throw core::ResourceError("a peer failed"); });
  EXPECT_THROW(waiter.until([] { return cudaErrorNotReady; }), core::ResourceError);
}

TEST(Nvml, IsAbsentWithoutTheLibrary) {
  EXPECT_FALSE(Nvml::open("libno-such-library.so.1"));
  EXPECT_FALSE(Nvml::open("libm.so.6")) << "a library without NVML's functions";
}

TEST(Nvml, ReadsWhatThereIs) {
  auto opened = Nvml::open(FAKE_NVML);
  ASSERT_TRUE(opened);
  const auto nvml = std::move(*opened);
  EXPECT_FALSE(nvml.read("0000:2B:00.0"));
  const auto reading = nvml.read("0000:1B:00.0");
  ASSERT_TRUE(reading);
  EXPECT_EQ(reading->name, "Imaginary 100");
  EXPECT_EQ(reading->uuid, "GPU-made-up");
  EXPECT_EQ(reading->sm_clock_hz, 1.98e9);
  EXPECT_EQ(reading->memory_clock_hz, std::nullopt);
  EXPECT_EQ(reading->energy_joules, 12.5);
}

}  // namespace
}  // namespace galvatron::device::cuda
