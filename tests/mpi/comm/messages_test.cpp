// Messages between two members: order, size, and what happens when nobody waits for them.
#include <gtest/gtest.h>

#include <span>
#include <stdexcept>
#include <utility>

#include "mpi/comm/support.hpp"

namespace galvatron::comm {
namespace {

using test::filled;
using test::view;

class Messages : public testing::Test {
 protected:
  std::unique_ptr<World> world = mpi::make_world();
  std::unique_ptr<Communicator> group =
      world->make_communicator(test::partitions(world->size())[0][0], TrafficClass::pipeline);

  void SetUp() override {
    if (world->size() == 1) GTEST_SKIP() << "needs two ranks";
  }
  int next() const { return (group->index() + 1) % group->size(); }
  int previous() const { return (group->index() + group->size() - 1) % group->size(); }
};

TEST_F(Messages, OfOnePairArriveInTheOrderSent) {
  constexpr int messages = 20;
  std::vector<std::vector<float>> out(messages);
  std::vector<std::vector<float>> in(messages);
  std::vector<Pending> pending;
  for (int m = 0; m < messages; ++m) {
    // Sizes on both sides of the eager limit, mixed.
    const int64_t count = m % 2 ? 10 : 50000;
    out[m] = filled<float>(group->index() * 100 + m, count);
    in[m].resize(static_cast<size_t>(count));
    pending.push_back(group->receive(view(in[m]), previous()));
    pending.push_back(group->send(view(out[m]), next()));
  }
  for (auto& one : pending) one.wait();
  for (int m = 0; m < messages; ++m)
    EXPECT_EQ(in[m], filled<float>(previous() * 100 + m, static_cast<int64_t>(in[m].size())))
        << "message " << m;
}

TEST_F(Messages, DoNotMeetCollectivesThatRunMeanwhile) {
  std::vector<double> in(100000, -1.0);
  auto out = filled<double>(group->index(), 100000);
  auto receive = group->receive(view(in), previous());
  std::vector<double> sum(100000, 1.0);
  group->all_reduce(view(sum), ReduceOp::sum);
  auto send = group->send(view(out), next());
  receive.wait();
  send.wait();
  EXPECT_EQ(sum, std::vector<double>(100000, group->size()));
  EXPECT_EQ(in, filled<double>(previous(), 100000));
}

TEST_F(Messages, TestBecomesTrueAndWaitingTwiceIsHarmless) {
  std::vector<float> in(3);
  auto out = filled<float>(group->index(), 3);
  auto receive = group->receive(view(in), previous());
  auto send = group->send(view(out), next());
  while (!receive.test()) {
  }
  EXPECT_TRUE(receive.test());
  receive.wait();
  EXPECT_EQ(in, filled<float>(previous(), 3));
  send.wait();
  send.wait();
}

TEST_F(Messages, AForgottenOneIsFinishedByItsOwnersEnd) {
  std::vector<float> in(200000);
  auto out = filled<float>(group->index(), 200000);
  {
    auto receive = group->receive(view(in), previous());
    auto send = group->send(view(out), next());
  }
  EXPECT_EQ(in, filled<float>(previous(), 200000));
}

TEST_F(Messages, AReplacedOneIsFinishedFirst) {
  std::vector<float> first(200000);
  std::vector<float> second(200000);
  auto out = filled<float>(group->index(), 200000);
  auto send_first = group->send(view(out), next());
  auto send_second = group->send(view(out), next());
  auto receive = group->receive(view(first), previous());
  receive = group->receive(view(second), previous());
  EXPECT_EQ(first, filled<float>(previous(), 200000));
  receive.wait();
  EXPECT_EQ(second, first);
}

TEST_F(Messages, EmptyOnesArriveToo) {
  std::vector<float> nothing;
  std::vector<float> in(1);
  std::vector<float> out = {static_cast<float>(group->index())};
  auto a = group->receive(view(nothing), previous());
  auto b = group->receive(view(in), previous());
  auto c = group->send(view(nothing), next());
  auto d = group->send(view(out), next());
  b.wait();
  EXPECT_EQ(in[0], static_cast<float>(previous()));
}

TEST_F(Messages, UnwindingDoesNotWaitForAPeerThatNeverComes) {
  std::vector<float> in(3);
  auto leave = [&] {
    auto never = group->receive(view(in), previous());
    throw std::runtime_error("this rank failed");
  };
  EXPECT_THROW(leave(), std::runtime_error);
  // The receive is still posted and takes the peer's message, so the test ends when everybody has it.
  auto out = filled<float>(group->index(), 3);
  auto send = group->send(view(out), next());
  send.wait();
  int64_t arrived = 0;
  while (arrived < group->size()) {
    arrived = in == filled<float>(previous(), 3) ? 1 : 0;
    world->all_reduce(std::span(&arrived, 1), ReduceOp::sum);
  }
}

}  // namespace
}  // namespace galvatron::comm
