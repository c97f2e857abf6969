// The dry world keeps the contract of the real one: same names, same places, same refusals, no data needed.
#include "comm/dry/dry_world.hpp"

#include <gtest/gtest.h>

#include "comm/mesh.hpp"
#include "core/errors.hpp"

namespace galvatron::comm {
namespace {

/// A view without memory, as dry programs have them.
device::TensorView shape_only(int64_t count, core::DType dtype = core::DType::f32) {
  return device::vector(nullptr, dtype, count);
}

TEST(DryWorld, FillsNodesInOrderAndUnevenlyByOneAtMost) {
  const auto world = make_dry_world(4, 7, 3);
  const int expected[] = {0, 0, 1, 1, 2, 2, 2};
  for (int r = 0; r < 7; ++r) EXPECT_EQ(world->node_of(r), expected[r]) << "rank " << r;
  EXPECT_EQ(world->node(), 2);
  EXPECT_EQ(world->local_rank(), 0);
  EXPECT_EQ(world->local_size(), 3);
  EXPECT_EQ(world->nodes(), 3);
  EXPECT_EQ(world->host_of(2), "node2");
}

TEST(DryWorld, AnswersAsIfAllRanksDidTheSame) {
  const auto world = make_dry_world(1, 4, 2);
  EXPECT_EQ(world->all_gather(int64_t{5}), std::vector<int64_t>(4, 5));
  EXPECT_EQ(world->all_gather(std::string("x")), std::vector<std::string>(4, "x"));
  double value = 1.5;
  world->all_reduce(std::span(&value, 1), ReduceOp::sum);
  EXPECT_EQ(value, 6.0);
  world->all_reduce(std::span(&value, 1), ReduceOp::max);
  EXPECT_EQ(value, 6.0);
  EXPECT_EQ(world->broadcast("deck", 3), "deck");
}

TEST(DryWorld, AFailureBecomesAnAgreedErrorOfThisRank) {
  const auto world = make_dry_world(2, 4, 2);
  try {
    world->agree("lower the plan", [] { throw core::UserError(core::ExitCode::no_plan, "too large"); });
    FAIL() << "the failure was lost";
  } catch (const core::AgreedError& error) {
    EXPECT_EQ(error.rank(), 2);
    EXPECT_EQ(error.host(), "node1");
    EXPECT_EQ(error.code(), core::ExitCode::no_plan);
    EXPECT_EQ(error.text(), "lower the plan: too large");
  }
}

TEST(DryCommunicator, RefusesWhatTheRealOnesRefuse) {
  const auto world = make_dry_world(0, 3, 1);
  const auto group = world->make_communicator({0, 1, 2}, TrafficClass::layer);
  EXPECT_THROW(group->all_gather(shape_only(4), shape_only(13)), core::InternalError);
  EXPECT_THROW(group->all_gather(shape_only(4), shape_only(12, core::DType::f64)), core::InternalError);
  EXPECT_THROW(group->reduce_scatter(shape_only(12), shape_only(5)), core::InternalError);
  EXPECT_THROW(group->reduce_scatter(shape_only(12, core::DType::u8), shape_only(4, core::DType::u8)),
               core::InternalError);
  group->reduce_scatter(shape_only(12, core::DType::bf16), shape_only(4, core::DType::bf16));
  EXPECT_THROW(group->all_to_all(shape_only(10), shape_only(10)), core::InternalError);
  EXPECT_THROW(group->all_reduce(shape_only(4, core::DType::i32), ReduceOp::sum), core::InternalError);
  EXPECT_THROW(group->broadcast(shape_only(4), 3), core::InternalError);
  EXPECT_THROW(group->send(shape_only(4), 0), core::InternalError);
  EXPECT_THROW(group->send(shape_only(4), 1, channels), core::InternalError);
  EXPECT_THROW(group->shift(shape_only(4), shape_only(5)), core::InternalError);
  const Block own{shape_only(4), 0}, twice[] = {{shape_only(4), 1}, {shape_only(3), 1}};
  EXPECT_THROW(group->exchange(std::span(&own, 1), {}), core::InternalError);
  EXPECT_THROW(group->exchange(twice, {}), core::InternalError);
  auto rows = device::matrix(nullptr, core::DType::f32, 3, 4);
  rows.row_stride = 8;
  EXPECT_THROW(group->all_reduce(rows, ReduceOp::sum), core::InternalError);
}

TEST(DryCommunicator, WritesDownEveryCall) {
  dry::Ledger ledger;
  const auto world = dry::make_world(1, 3, 1, ledger);
  const auto group = world->make_communicator({0, 1, 2}, TrafficClass::layer);
  group->all_reduce(shape_only(4), ReduceOp::max);
  group->all_gather(shape_only(4), shape_only(12));
  group->send(shape_only(5, core::DType::bf16), 2).wait();
  group->receive(shape_only(3), 0, 4).wait();
  group->shift(shape_only(2), shape_only(2)).wait();
  const Block sends[] = {{shape_only(6), 0}, {shape_only(7), 1}}, receives[] = {{shape_only(7), 1}};
  group->exchange(sends, receives);
  const auto& calls = ledger.calls(1);
  ASSERT_EQ(calls.size(), 7u);
  EXPECT_EQ(calls[0].to_string(), "all_reduce of 16 bytes f32 (max)");
  EXPECT_EQ(calls[1].to_string(), "all_gather of 48 bytes f32");
  EXPECT_EQ(calls[2].to_string(), "send of 10 bytes bf16 (member 2)");
  EXPECT_EQ(calls[3].to_string(), "receive of 12 bytes f32 (member 0) on channel 4");
  EXPECT_EQ(calls[4].to_string(), "shift of 8 bytes f32");
  EXPECT_EQ(calls[5].to_string(), "exchange of 0 bytes f32");
  EXPECT_EQ(calls[6].to_string(), "block_send of 24 bytes f32 (member 0) in exchange 0");
  EXPECT_TRUE(ledger.calls(0).empty());
}

TEST(DryMesh, IsMadeAsTheRealOne) {
  const auto world = make_dry_world(1, 4, 2);
  DeviceMesh mesh(*world, {{TrafficClass::layer, {0, 1}},
                           {TrafficClass::layer, {2, 3}},
                           {TrafficClass::gradient, {1, 3}},
                           {TrafficClass::layer, {0, 1}}});
  EXPECT_EQ(mesh.communicators(), 2);
  EXPECT_EQ(mesh.get({1, 3}, TrafficClass::gradient).index(), 0);
  EXPECT_THROW(mesh.get({2, 3}, TrafficClass::layer), core::InternalError);
}

}  // namespace
}  // namespace galvatron::comm
