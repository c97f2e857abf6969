// Ring shifts, exchanges of uneven blocks, and channels that keep messages apart.
#include <gtest/gtest.h>

#include <span>
#include <utility>

#include "core/errors.hpp"
#include "mpi/comm/support.hpp"

namespace galvatron::comm {
namespace {

using test::filled;
using test::view;

class EveryGroup : public testing::Test {
 protected:
  std::unique_ptr<World> world = mpi::make_world();

  template <class Body>
  void for_each_group(Body body) {
    for (const auto& partition : test::partitions(world->size())) {
      auto group = world->make_communicator(test::group_of(partition, world->rank()), TrafficClass::layer);
      SCOPED_TRACE("communicator '" + group->name() + "'");
      body(*group);
    }
  }
};

using Shift = EveryGroup;
using Exchange = EveryGroup;
using Channels = EveryGroup;

int member_before(const Communicator& group, int steps) {
  return group.members()[static_cast<size_t>((group.index() + steps * (group.size() - 1)) % group.size())];
}

TEST_F(Shift, BringsTheBlockOfTheMemberBefore) {
  for_each_group([&](Communicator& group) {
    for (const int64_t n : {0, 1, 5000, 100000}) {
      auto in = filled<float>(world->rank(), n);
      std::vector<float> out(in.size(), -1);
      group.shift(view(in), view(out)).wait();
      EXPECT_EQ(out, filled<float>(member_before(group, 1), n)) << n << " elements";
      EXPECT_EQ(in, filled<float>(world->rank(), n));
    }
  });
}

TEST_F(Shift, GoesRoundTheWholeRing) {
  for_each_group([&](Communicator& group) {
    auto now = filled<double>(world->rank(), 3000);
    auto next = now;
    for (int step = 0; step < group.size(); ++step) {
      EXPECT_EQ(now, filled<double>(member_before(group, step), 3000)) << "step " << step;
      group.shift(view(now), view(next)).wait();
      std::swap(now, next);
    }
    EXPECT_EQ(now, filled<double>(world->rank(), 3000));
  });
}

TEST_F(Shift, SeveralUnderWayMeetInTheOrderOfTheCalls) {
  for_each_group([&](Communicator& group) {
    std::vector<std::vector<float>> in, out;
    std::vector<Pending> pending;
    for (int k = 0; k < 6; ++k) {
      in.push_back(filled<float>(world->rank() + 100 * k, k % 2 ? 10 : 40000));
      out.emplace_back(in.back().size());
    }
    for (size_t k = 0; k < in.size(); ++k) pending.push_back(group.shift(view(in[k]), view(out[k])));
    std::vector<double> sum(20000, 1.0);
    group.all_reduce(view(sum), ReduceOp::sum);  // a collective in between does not disturb them
    for (auto& one : pending) one.wait();
    EXPECT_EQ(sum, std::vector<double>(20000, group.size()));
    for (size_t k = 0; k < in.size(); ++k)
      EXPECT_EQ(out[k], filled<float>(member_before(group, 1) + 100 * static_cast<int>(k),
                                      static_cast<int64_t>(in[k].size())))
          << "shift " << k;
  });
}

/// Elements that member a sends to member b: some pairs nothing, some little, some beyond the eager limit.
int64_t count_between(int a, int b, int round) {
  return ((a * 5 + b * 3 + round) % 4) * ((a + b + round) % 2 ? 7 : 12345);
}

TEST_F(Exchange, MovesBlocksOfAnySizeBetweenAnyMembers) {
  for_each_group([&](Communicator& group) {
    for (int round = 0; round < 4; ++round) {
      std::vector<std::vector<float>> out, in;
      std::vector<Block> sends, receives;
      for (int peer = 0; peer < group.size(); ++peer) {
        out.push_back(filled<float>(group.index() * 17 + peer, count_between(group.index(), peer, round)));
        in.emplace_back(static_cast<size_t>(count_between(peer, group.index(), round)), -1.0f);
      }
      // A peer without a block is named in some rounds and left out in others, and not in the same way by
      // both sides; receives are named backwards.
      for (int peer = 0; peer < group.size(); ++peer) {
        const auto p = static_cast<size_t>(peer), q = in.size() - 1 - p;
        if (!out[p].empty() || round % 2) sends.push_back({view(out[p]), peer});
        if (!in[q].empty() || group.index() % 2) receives.push_back({view(in[q]), static_cast<int>(q)});
      }
      group.exchange(sends, receives);
      for (int peer = 0; peer < group.size(); ++peer)
        EXPECT_EQ(in[static_cast<size_t>(peer)],
                  filled<float>(peer * 17 + group.index(), count_between(peer, group.index(), round)))
            << "round " << round << ", from member " << peer;
    }
  });
}

TEST_F(Exchange, WithoutBlocksIsACallLikeAnyOther) {
  for_each_group([&](Communicator& group) {
    group.exchange({}, {});
    std::vector<float> data(3, 1.0f), copy(3);
    const Block own{view(data), group.index()}, to{view(copy), group.index()};
    group.exchange(std::span(&own, 1), std::span(&to, 1));
    EXPECT_EQ(copy, data);
  });
}

TEST_F(Exchange, RefusesWhatNoPeerCanMean) {
  for_each_group([&](Communicator& group) {
    std::vector<float> three(3), four(4);
    const Block twice[] = {{view(three), 0}, {view(four), 0}};
    EXPECT_THROW(group.exchange(twice, {}), core::InternalError);
    EXPECT_THROW(group.exchange({}, twice), core::InternalError);
    const Block nobody{view(three), group.size()};
    EXPECT_THROW(group.exchange(std::span(&nobody, 1), {}), core::InternalError);
    const Block mine{view(three), group.index()}, longer{view(four), group.index()};
    EXPECT_THROW(group.exchange(std::span(&mine, 1), std::span(&longer, 1)), core::InternalError);
    EXPECT_THROW(group.exchange(std::span(&mine, 1), {}), core::InternalError);
  });
}

TEST_F(Channels, KeepMessagesOfOnePairApart) {
  for_each_group([&](Communicator& group) {
    if (group.size() == 1) return;
    const int next = (group.index() + 1) % group.size();
    const int previous = (group.index() + group.size() - 1) % group.size();
    std::vector<std::vector<float>> out, in;
    std::vector<Pending> pending;
    for (int m = 0; m < 6; ++m) {
      out.push_back(filled<float>(world->rank() + 50 * m, m % 2 ? 11 : 30000));
      in.emplace_back(out.back().size());
    }
    // Channel 2 is sent first and received last; within a channel order holds.
    const int sent[] = {4, 5, 2, 3, 0, 1}, received[] = {0, 2, 1, 4, 3, 5};
    for (const int m : received) pending.push_back(group.receive(view(in[m]), previous, m / 2));
    for (const int m : sent) pending.push_back(group.send(view(out[m]), next, m / 2));
    for (auto& one : pending) one.wait();
    const int from = member_before(group, 1);
    for (int m = 0; m < 6; ++m)
      EXPECT_EQ(in[m], filled<float>(from + 50 * m, static_cast<int64_t>(in[m].size()))) << "message " << m;
  });
}

TEST_F(Channels, AreCounted) {
  for_each_group([&](Communicator& group) {
    if (group.size() == 1) return;
    std::vector<float> data(1), other(1);
    const int peer = group.index() == 0 ? 1 : 0;
    EXPECT_THROW(group.send(view(data), peer, -1), core::InternalError);
    EXPECT_THROW(group.receive(view(data), peer, channels), core::InternalError);
    if (group.index() > 1) return;
    auto receive = group.receive(view(other), peer, channels - 1);
    group.send(view(data), peer, channels - 1).wait();
    receive.wait();
  });
}

}  // namespace
}  // namespace galvatron::comm
