// A CUDA device keeps every promise of device.hpp: zeros, order within and between streams, copies, and one
// clear error each.

#include "device/cuda/cuda_device.hpp"

#include <gtest/gtest.h>

#include <stdexcept>

#include "device/cuda/nvml.hpp"
#include "device/host_window.hpp"
#include "gpu/device/spin.hpp"
#include "gpu/support.hpp"

namespace galvatron::device {
namespace {

constexpr double busy = 0.05;  // seconds, long beside any launch

class CudaDevice : public testing::Test {
 protected:
  void SetUp() override {
    auto [made, reason] = test::cuda_device();
    if (!made) GTEST_SKIP() << reason;
    device_ = std::move(made);
    stream_ = device_->make_stream();
  }

  int value_at(const Buffer& buffer) {
    HostWindow window(*device_, *stream_);
    return *reinterpret_cast<const int*>(window.look(buffer.data(), sizeof(int)).data());
  }

  std::unique_ptr<Device> device_;
  std::unique_ptr<Stream> stream_;
};

TEST_F(CudaDevice, KnowsItself) {
  EXPECT_EQ(device_->kind(), DeviceKind::cuda);
  EXPECT_FALSE(device_->name().empty());
  EXPECT_GE(device_->identity().size(), std::string("0000:1B:00.0").size()) << device_->identity();
  const auto* own = own_memory(*device_);
  ASSERT_NE(own, nullptr);
  EXPECT_GT(own->available_bytes(), 0);
  for (const auto& peer : own_memory(*device_)->facts().peers) EXPECT_NE(peer, device_->identity());
}

TEST_F(CudaDevice, GivesAlignedZerosAndCountsThem) {
  HostWindow window(*device_, *stream_);
  for (const int64_t bytes : {1, 63, 4097, (9 << 20) + 5}) {
    const Buffer buffer(*device_, bytes);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(buffer.data()) % 64, 0u) << bytes;
    EXPECT_EQ(device_->bytes_in_use(), bytes);
    int64_t nonzero = 0;
    for (const auto byte : window.look(buffer.data(), bytes)) nonzero += byte != std::byte{0};
    EXPECT_EQ(nonzero, 0) << bytes;
  }
  EXPECT_EQ(device_->bytes_in_use(), 0);
}

TEST_F(CudaDevice, RefusesMoreThanItHas) {
  try {
    device_->allocate(int64_t{1} << 50);
    FAIL() << "a petabyte was given";
  } catch (const core::ResourceError& error) {
    EXPECT_EQ(error.code(), core::ExitCode::out_of_memory);
    EXPECT_NE(std::string(error.what()).find("1.00 PiB"), std::string::npos) << error.what();
  }
  EXPECT_EQ(device_->bytes_in_use(), 0);
  const Buffer still_works(*device_, 100);
}

TEST_F(CudaDevice, MovesAndClearsBytes) {
  const Buffer a(*device_, 100), b(*device_, 100);
  const HostBuffer there(*device_, 100), back(*device_, 100);
  for (size_t i = 0; i < 100; ++i) there.span()[i] = static_cast<std::byte>(i + 1);
  device_->upload(*stream_, there.span(), a.data());
  device_->copy(*stream_, a.data() + 10, b.data(), 80);
  device_->zero(*stream_, b.data() + 40, 20);
  device_->download(*stream_, b.data(), back.span());
  stream_->synchronize();
  for (size_t i = 0; i < 100; ++i) {
    const size_t expected = i >= 80 || (i >= 40 && i < 60) ? 0 : i + 11;
    EXPECT_EQ(static_cast<size_t>(back.span()[i]), expected) << "byte " << i;
  }
}

TEST_F(CudaDevice, WindowShowsWorkOfItsStreamAndPutsBack) {
  const Buffer cell(*device_, sizeof(int));
  test::spin(*stream_, busy, reinterpret_cast<int*>(cell.data()), 41);
  EXPECT_EQ(value_at(cell), 41);
  HostWindow window(*device_, *stream_);
  *reinterpret_cast<int*>(window.edit(cell.data(), sizeof(int)).data()) = 42;
  window.put_back();
  EXPECT_EQ(value_at(cell), 42);
}

TEST_F(CudaDevice, KernelsReachHostBuffers) {
  const HostBuffer cell(*device_, sizeof(int));
  test::spin(*stream_, busy, reinterpret_cast<int*>(cell.data()), 7);
  stream_->synchronize();
  EXPECT_EQ(*reinterpret_cast<int*>(cell.data()), 7);
}

TEST_F(CudaDevice, AStreamWaitsForAnEventAndTheHostDoesNot) {
  const Buffer cell(*device_, sizeof(int)), seen(*device_, sizeof(int));
  const auto other = device_->make_stream(StreamUse::communication);
  const auto begin = device_->make_event(), end = device_->make_event();
  EXPECT_TRUE(end->query()) << "never recorded";
  begin->record(*stream_);
  test::spin(*stream_, busy, reinterpret_cast<int*>(cell.data()), 9);
  end->record(*stream_);
  EXPECT_FALSE(end->query()) << "the kernel runs for " << busy << " s";
  other->wait(*end);
  device_->copy(*other, cell.data(), seen.data(), sizeof(int));
  end->synchronize();
  EXPECT_TRUE(end->query());
  EXPECT_GE(end->seconds_since(*begin), busy);
  other->synchronize();
  EXPECT_EQ(value_at(seen), 9) << "copied before it was written";
}

TEST_F(CudaDevice, ATroubledPollEndsAWait) {
  auto& cuda_device = static_cast<cuda::CudaDevice&>(*device_);
  test::spin(*stream_, busy, nullptr, 0);
  cuda_device.set_poll([] { throw std::runtime_error("a peer failed"); });
  EXPECT_THROW(stream_->synchronize(), std::runtime_error);
  cuda_device.set_poll({});
  stream_->synchronize();
}

TEST_F(CudaDevice, NvmlKnowsTheDevice) {
  const auto nvml = cuda::Nvml::open();
  if (!nvml) GTEST_SKIP() << "no NVML on this machine";
  const auto reading = nvml->read(device_->identity());
  ASSERT_TRUE(reading) << device_->identity();
  EXPECT_EQ(reading->name, device_->name());
  EXPECT_GT(reading->sm_clock_hz.value_or(0), 0);
  EXPECT_EQ(own_memory(*device_)->facts().memory_clock_hz, reading->memory_clock_hz.value_or(0));
}

}  // namespace
}  // namespace galvatron::device
