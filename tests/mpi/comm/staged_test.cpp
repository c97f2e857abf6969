// Ranks whose data the host cannot touch: everything must go through the device and come out right, and who
// shares a device is found.

#include <gtest/gtest.h>

#include <numeric>

#include "comm/device_world.hpp"
#include "comm/staged/layered_communicator.hpp"
#include "core/errors.hpp"
#include "mpi/comm/device_suite.hpp"
#include "support/far_device.hpp"

namespace galvatron::comm {
namespace {

TEST(Staged, EveryCallKeepsItsPromise) {
  const auto far = galvatron::test::make_far_device();
  const auto world = make_device_world(mpi::make_world(), *far, nullptr);
  for (const auto& partition : test::partitions(world->size())) {
    test::DeviceSuite suite(*world, *far, test::group_of(partition, world->rank()), TrafficClass::layer);
    for (const int64_t n : {0, 5, 40001}) suite.check_all(n);
  }
}

/// Stands in for what moves device memory inside a node.
class NearTransport final : public DirectTransport {
 public:
  explicit NearTransport(device::Device& device) : device_(device) {}
  std::unique_ptr<Communicator> make(Group, std::unique_ptr<Communicator> host) override {
    return std::make_unique<StagedCommunicator>(std::move(host), device_);
  }
  void abort() noexcept override {}

 private:
  device::Device& device_;
};

/// Pairs of ranks pretend to be nodes: collectives go by levels, messages directly or not.
TEST(Layered, EveryCallKeepsItsPromise) {
  const auto far = galvatron::test::make_far_device();
  const auto world = make_device_world(mpi::make_world([](int rank) { return rank / 2; }), *far,
                                       std::make_unique<NearTransport>(*far));
  std::vector<int> everyone(static_cast<size_t>(world->size()));
  std::iota(everyone.begin(), everyone.end(), 0);
  core::FormTable levels;
  for (const auto kind : {core::CollectiveKind::all_reduce, core::CollectiveKind::all_gather,
                          core::CollectiveKind::reduce_scatter})
    levels.rows.push_back({kind, 0, core::Form::hierarchical});
  for (const auto traffic : {TrafficClass::gradient, TrafficClass::pipeline}) {
    test::DeviceSuite suite(*world, *far, everyone, traffic,
                            traffic == TrafficClass::gradient ? levels : core::FormTable{});
    for (const int64_t n : {0, 5, 40001}) suite.check_all(n);
  }
}

TEST(Levels, AreOfGroupsThatLieAlikeOnTheirNodes) {
  const auto levels = levels_of({3, 3, 1, 1, 0, 0}, 3);
  ASSERT_TRUE(levels);
  EXPECT_EQ(levels->lanes, 2);
  EXPECT_EQ(levels->nodes, 3);
  EXPECT_EQ(levels->node, 1);
  EXPECT_EQ(levels->lane, 1);
  EXPECT_FALSE(levels_of({0, 0, 0}, 0)) << "one node";
  EXPECT_FALSE(levels_of({0, 1, 2}, 0)) << "one member each";
  EXPECT_FALSE(levels_of({0, 0, 1}, 0)) << "fewer on the last";
  EXPECT_FALSE(levels_of({0, 0, 1, 1, 0, 0}, 0)) << "a node that comes again";
  EXPECT_FALSE(levels_of({0, 1, 0, 1}, 0)) << "dealt in turn";
}

TEST(Staged, TheWorldIsTheHostsWorld) {
  const auto far = galvatron::test::make_far_device();
  const auto host = mpi::make_world();
  const auto world = make_device_world(mpi::make_world(), *far, nullptr);
  EXPECT_EQ(world->rank(), host->rank());
  EXPECT_EQ(world->size(), host->size());
  EXPECT_EQ(world->local_rank(), host->local_rank());
  EXPECT_EQ(world->host_of(world->node()), host->host_of(host->node()));
  EXPECT_EQ(world->all_gather(int64_t{world->rank()}), host->all_gather(int64_t{host->rank()}));
  EXPECT_THROW(world->agree("fail", [] { throw core::UserError("on purpose"); }), core::AgreedError);
}

TEST(SharedDevice, NamesTheFirstTwoRanks) {
  const auto world = mpi::make_world();
  EXPECT_EQ(shared_device(*world, ""), "") << "devices that may be shared";
  EXPECT_EQ(shared_device(*world, "GPU-" + std::to_string(world->rank())), "");
  const auto text = shared_device(*world, "GPU-7");
  if (world->size() == 1)
    EXPECT_EQ(text, "");
  else
    EXPECT_EQ(text, "ranks 0 and 1 on " + world->host_of(0) + " use the same device GPU-7");
}

}  // namespace
}  // namespace galvatron::comm
