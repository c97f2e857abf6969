// Every call of a communicator between CUDA devices, directly and through host memory; and two ranks on one
// device are refused.

#include <gtest/gtest.h>

#include "comm/device_world.hpp"
#include "core/errors.hpp"
#include "gpu/support.hpp"
#include "mpi/comm/device_suite.hpp"

namespace galvatron::comm {
namespace {

class CudaWorld : public testing::Test {
 protected:
  void SetUp() override {
    auto [made, reason] = galvatron::test::cuda_device(host_->local_rank());
    const auto reasons = host_->all_gather(reason);
    for (const auto& text : reasons)
      if (!text.empty()) GTEST_SKIP() << text;
    device_ = std::move(made);
    shared_ = shared_device(*host_, device_->identity());
  }

  void check(World& world) {
    for (const auto traffic : {TrafficClass::layer, TrafficClass::gradient, TrafficClass::pipeline}) {
      for (const auto& partition : test::partitions(world.size())) {
        test::DeviceSuite suite(world, *device_, test::group_of(partition, world.rank()), traffic);
        for (const int64_t n : {0, 5, 40001}) suite.check_all(n);
      }
    }
  }

  std::unique_ptr<World> host_ = mpi::make_world();
  std::unique_ptr<device::Device> device_;
  std::string shared_;
};

TEST_F(CudaWorld, StagedCallsKeepTheirPromises) {
  const auto world = make_device_world(mpi::make_world(), *device_, nullptr);
  check(*world);
}

TEST_F(CudaWorld, DirectCallsKeepTheirPromises) {
  if (!shared_.empty()) GTEST_SKIP() << "too few devices: " << shared_;
  const auto world = make_mpi_world(*device_);
  check(*world);
}

TEST_F(CudaWorld, RefusesTwoRanksOnOneDevice) {
  if (shared_.empty()) GTEST_SKIP() << "every rank has a device of its own";
  try {
    make_mpi_world(*device_);
    FAIL() << shared_;
  } catch (const core::UserError& error) {
    EXPECT_EQ(error.code(), core::ExitCode::environment);
    EXPECT_NE(std::string(error.what()).find(shared_), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace galvatron::comm
