// Devices hold what they say they hold: alignment, zeros, byte counts, and one clear error each.

#include "device/device.hpp"

#include <gtest/gtest.h>

#include <utility>

#include "core/errors.hpp"
#include "device/host_window.hpp"
#include "device/tensor.hpp"

namespace galvatron::device {
namespace {

TEST(CpuDevice, GivesAlignedZeros) {
  const auto device = make_device(DeviceKind::cpu);
  for (const int64_t bytes : {1, 63, 64, 4097, (4 << 20) - 1, 4 << 20, (9 << 20) + 5}) {
    const Buffer buffer(*device, bytes);
    ASSERT_NE(buffer.data(), nullptr) << bytes;
    EXPECT_EQ(reinterpret_cast<uintptr_t>(buffer.data()) % 64, 0u) << bytes;
    int64_t nonzero = 0;
    for (int64_t i = 0; i < bytes; ++i) nonzero += buffer.data()[i] != std::byte{0};
    EXPECT_EQ(nonzero, 0) << bytes;
    buffer.data()[0] = buffer.data()[bytes - 1] = std::byte{1};
  }
  EXPECT_EQ(device->bytes_in_use(), 0);
}

TEST(CpuDevice, ZerosReusedMemory) {
  const auto device = make_device(DeviceKind::cpu);
  for (int round = 0; round < 3; ++round) {
    const Buffer buffer(*device, 1000);
    EXPECT_EQ(buffer.data()[500], std::byte{0}) << "round " << round;
    buffer.data()[500] = std::byte{7};
  }
}

TEST(CpuDevice, RefusesMoreThanTheHostHas) {
  const auto device = make_device(DeviceKind::cpu);
  try {
    device->allocate(int64_t{1} << 50);
    FAIL() << "a petabyte was given";
  } catch (const core::ResourceError& error) {
    EXPECT_EQ(error.code(), core::ExitCode::out_of_memory);
    EXPECT_NE(std::string(error.what()).find("1.00 PiB"), std::string::npos) << error.what();
  }
  EXPECT_EQ(device->bytes_in_use(), 0);
}

class Counting : public testing::TestWithParam<DeviceKind> {};

TEST_P(Counting, BytesInUseAndPeak) {
  const auto device = make_device(GetParam());
  EXPECT_EQ(device->kind(), GetParam());
  {
    Buffer first(*device, 100);
    Buffer second(*device, 5 << 20);
    EXPECT_EQ(device->bytes_in_use(), (5 << 20) + 100);
    first = Buffer(*device, 30);
    EXPECT_EQ(device->bytes_in_use(), (5 << 20) + 30);
    const Buffer moved = std::move(second);
    EXPECT_EQ(second.bytes(), 0);
    EXPECT_EQ(moved.bytes(), 5 << 20);
    EXPECT_EQ(device->bytes_in_use(), (5 << 20) + 30);
    EXPECT_EQ(device->peak_bytes(), (5 << 20) + 130) << "the new buffer exists before the old one goes";
    const Buffer none(*device, 0);
  }
  EXPECT_EQ(device->bytes_in_use(), 0);
  EXPECT_EQ(device->peak_bytes(), (5 << 20) + 130);
  device->make_stream()->synchronize();
}

INSTANTIATE_TEST_SUITE_P(Kinds, Counting, testing::Values(DeviceKind::cpu, DeviceKind::dry),
                         [](const auto& info) { return to_string(info.param); });

TEST(DryDevice, HoldsAPetabyte) {
  const auto device = make_device(DeviceKind::dry);
  const Buffer buffer(*device, int64_t{1} << 50);
  EXPECT_EQ(buffer.data(), nullptr);
  EXPECT_EQ(device->bytes_in_use(), int64_t{1} << 50);
}

class Streams : public testing::TestWithParam<DeviceKind> {};

TEST_P(Streams, EventsAreReachedWhenTheStreamIsThere) {
  const auto device = make_device(GetParam());
  const auto compute = device->make_stream(StreamUse::compute);
  const auto copy = device->make_stream(StreamUse::copy);
  const auto begin = device->make_event(), end = device->make_event();
  EXPECT_TRUE(begin->query()) << "never recorded";
  begin->record(*compute);
  copy->wait(*begin);
  end->record(*copy);
  end->synchronize();
  EXPECT_TRUE(end->query());
  EXPECT_GE(end->seconds_since(*begin), 0.0);
  EXPECT_EQ(device->identity(), "") << "may be shared";
}

INSTANTIATE_TEST_SUITE_P(Kinds, Streams, testing::Values(DeviceKind::cpu, DeviceKind::dry),
                         [](const auto& info) { return to_string(info.param); });

TEST(CpuDevice, MovesAndClearsBytes) {
  const auto device = make_device(DeviceKind::cpu);
  const auto stream = device->make_stream();
  const Buffer a(*device, 100), b(*device, 100);
  const HostBuffer there(*device, 100), back(*device, 100);
  for (size_t i = 0; i < 100; ++i) there.span()[i] = static_cast<std::byte>(i + 1);
  device->upload(*stream, there.span(), a.data());
  device->copy(*stream, a.data() + 10, b.data(), 80);
  device->zero(*stream, b.data() + 40, 20);
  device->download(*stream, b.data(), back.span());
  stream->synchronize();
  for (size_t i = 0; i < 100; ++i) {
    const size_t expected = i >= 80 || (i >= 40 && i < 60) ? 0 : i + 11;
    EXPECT_EQ(static_cast<size_t>(back.span()[i]), expected) << "byte " << i;
  }
}

TEST(HostBuffer, IsZeroedMovesAndIsNotTheDevices) {
  for (const auto kind : {DeviceKind::cpu, DeviceKind::dry}) {
    const auto device = make_device(kind);
    HostBuffer first(*device, 4097);
    for (const auto byte : first.span()) ASSERT_EQ(byte, std::byte{0});
    first.span()[7] = std::byte{7};
    const HostBuffer moved = std::move(first);
    EXPECT_EQ(first.data(), nullptr);
    EXPECT_EQ(moved.span()[7], std::byte{7});
    EXPECT_EQ(device->bytes_in_use(), 0);
    EXPECT_EQ(HostBuffer(*device, 0).data(), nullptr);
  }
}

TEST(HostWindow, IsTheMemoryItselfOnTheCpu) {
  const auto device = make_device(DeviceKind::cpu);
  const auto stream = device->make_stream();
  HostWindow window(*device, *stream);
  const Buffer buffer(*device, 64);
  const auto room = window.edit(buffer.data() + 8, 4);
  EXPECT_EQ(room.data(), buffer.data() + 8);
  room[0] = std::byte{5};
  window.put_back();
  const auto seen = window.look(buffer.data(), 64);
  EXPECT_EQ(seen.data(), buffer.data());
  EXPECT_EQ(seen[8], std::byte{5});
}

TEST(TensorView, RowRangeMovesByStride) {
  float data[12] = {};
  TensorView view{reinterpret_cast<std::byte*>(data), core::DType::f32, 3, 2, 4};
  EXPECT_FALSE(view.contiguous());
  EXPECT_EQ(view.bytes(), 24);
  const auto tail = view.row_range(1, 2);
  EXPECT_EQ(tail.as<float>(), data + 4);
  EXPECT_EQ(tail.rows, 2);
  EXPECT_FALSE(TensorView{}.present());
  EXPECT_EQ((TensorView{nullptr, core::DType::f32, 3, 2, 4}.row_range(1, 1).data), nullptr);
}

}  // namespace
}  // namespace galvatron::device
