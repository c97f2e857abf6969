// The control plane: texts and numbers reach everybody, and one failure becomes the same error everywhere.
#include <gtest/gtest.h>

#include <new>
#include <string>
#include <thread>

#include "comm/world_queue.hpp"
#include "core/errors.hpp"
#include "mpi/comm/support.hpp"

namespace galvatron::comm {
namespace {

class WorldTest : public testing::Test {
 protected:
  std::unique_ptr<World> world = mpi::make_world();
};

TEST_F(WorldTest, RanksAreNumberedByNodeThenPlaceOnTheNode) {
  EXPECT_EQ(world->node(), world->node_of(world->rank()));
  int place = 0;
  for (int r = 0; r < world->rank(); ++r) {
    EXPECT_LE(world->node_of(r), world->node_of(r + 1));
    if (world->node_of(r) == world->node()) ++place;
  }
  EXPECT_EQ(world->local_rank(), place);
  EXPECT_LT(world->local_rank(), world->local_size());
  EXPECT_FALSE(world->host_of(world->node()).empty());
  const auto ranks = world->all_gather(static_cast<int64_t>(world->rank()));
  for (int r = 0; r < world->size(); ++r) EXPECT_EQ(ranks[static_cast<size_t>(r)], r);
}

TEST_F(WorldTest, TextsOfAnyLengthAreGatheredInRankOrder) {
  // Rank 0 has nothing to say, the others more and more, zero bytes included.
  const auto text_of = [](int rank) {
    return std::string(static_cast<size_t>(rank * 1000), static_cast<char>(rank));
  };
  const auto texts = world->all_gather(text_of(world->rank()));
  ASSERT_EQ(static_cast<int>(texts.size()), world->size());
  for (int r = 0; r < world->size(); ++r)
    EXPECT_EQ(texts[static_cast<size_t>(r)], text_of(r)) << "text of rank " << r;
}

TEST_F(WorldTest, BroadcastReplacesEverybodysText) {
  for (int root = 0; root < world->size(); ++root) {
    const auto mine = "deck of rank " + std::to_string(world->rank());
    EXPECT_EQ(world->broadcast(mine, root), "deck of rank " + std::to_string(root));
  }
  EXPECT_EQ(world->broadcast("", 0), "");
}

TEST_F(WorldTest, NumbersAreReduced) {
  const auto rank = world->rank();
  const auto size = world->size();
  std::vector<int64_t> whole = {rank + 1, -rank};
  world->all_reduce(std::span(whole), ReduceOp::sum);
  EXPECT_EQ(whole[0], size * (size + 1) / 2);
  EXPECT_EQ(whole[1], -size * (size - 1) / 2);
  std::vector<double> real = {0.1 * (rank + 1), -1.0 * rank};
  world->all_reduce(std::span(real), ReduceOp::max);
  EXPECT_EQ(real[0], 0.1 * size);
  EXPECT_EQ(real[1], 0.0);
  const auto doubles = world->all_gather(0.5 * rank);
  for (int r = 0; r < size; ++r) EXPECT_EQ(doubles[static_cast<size_t>(r)], 0.5 * r);
}

TEST_F(WorldTest, SumsOfRealNumbersHaveRankOrder) {
  double expected = 0.0;
  for (int r = 0; r < world->size(); ++r) expected = r == 0 ? 1e16 : expected + 1.0 / r;
  double value = world->rank() == 0 ? 1e16 : 1.0 / world->rank();
  world->all_reduce(std::span(&value, 1), ReduceOp::sum);
  EXPECT_EQ(value, expected);
}

TEST_F(WorldTest, ATwinTalksFromAnotherThreadMeanwhile) {
  const auto twin = world->twin();
  EXPECT_EQ(twin->rank(), world->rank());
  EXPECT_EQ(twin->nodes(), world->nodes());
  EXPECT_EQ(twin->host_of(twin->node()), world->host_of(world->node()));
  const auto ask = [](World& who, int64_t salt) {
    for (int64_t i = 0; i < 10; ++i) {
      const auto all = who.all_gather(salt + i + who.rank());
      for (int r = 0; r < who.size(); ++r) EXPECT_EQ(all[static_cast<size_t>(r)], salt + i + r);
      EXPECT_EQ(who.broadcast(std::to_string(salt + i + who.rank()), 0), std::to_string(salt + i));
    }
    try {
      who.agree("stop", [&] {
        if (who.rank() == 0) throw core::UserError("no " + std::to_string(salt));
      });
      ADD_FAILURE() << "no error";
    } catch (const core::AgreedError& error) {
      EXPECT_NE(std::string(error.what()).find("no " + std::to_string(salt)), std::string::npos);
    }
  };
  std::thread other([&] { ask(*twin, 1000); });
  ask(*world, 2000);
  other.join();
}

TEST_F(WorldTest, AgreeingOnSuccessRunsTheBodyOnce) {
  int runs = 0;
  world->agree("count", [&] { ++runs; });
  EXPECT_EQ(runs, 1);
}

TEST_F(WorldTest, OneFailingRankFailsEverywhereAlike) {
  for (int bad = 0; bad < world->size(); ++bad) {
    try {
      world->agree("open the dataset", [&] {
        if (world->rank() == bad) throw core::UserError(core::ExitCode::data, "no file tokens.bin");
      });
      FAIL() << "rank " << bad << " failed and rank " << world->rank() << " did not hear of it";
    } catch (const core::AgreedError& error) {
      EXPECT_EQ(error.code(), core::ExitCode::data);
      EXPECT_EQ(error.rank(), bad);
      EXPECT_EQ(error.host(), world->host_of(world->node_of(bad)));
      EXPECT_EQ(error.text(), "open the dataset: no file tokens.bin");
      EXPECT_EQ(error.others(), 0);
    }
  }
}

TEST_F(WorldTest, TheFirstOfSeveralFailingRanksSpeaks) {
  if (world->size() == 1) GTEST_SKIP() << "needs two ranks";
  try {
    world->agree("allocate the model", [&] {
      if (world->rank() == 1) throw std::bad_alloc();
      if (world->rank() > 1) throw core::UserError(core::ExitCode::data, "another failure");
    });
    FAIL() << "nobody heard of the failures";
  } catch (const core::AgreedError& error) {
    EXPECT_EQ(error.code(), core::ExitCode::out_of_memory);
    EXPECT_EQ(error.rank(), 1);
    EXPECT_EQ(error.text(), "allocate the model: out of memory");
    EXPECT_EQ(error.others(), world->size() - 2);
  }
}

TEST_F(WorldTest, AForeignExceptionIsAnInternalError) {
  try {
    world->agree("think", [&] {
      if (world->rank() == world->size() - 1) throw 42;
    });
    FAIL() << "the exception was lost";
  } catch (const core::AgreedError& error) {
    EXPECT_EQ(error.code(), core::ExitCode::internal);
    EXPECT_EQ(error.rank(), world->size() - 1);
  }
}

TEST_F(WorldTest, TheWorldStillWorksAfterAnAgreedError) {
  EXPECT_THROW(world->agree("fail", [] { throw core::UserError("on purpose"); }), core::AgreedError);
  EXPECT_EQ(static_cast<int>(world->all_gather(int64_t{1}).size()), world->size());
}

TEST_F(WorldTest, TheWorkQueueSharesBoundsAndResults) {
  WorldQueue queue(*world);
  EXPECT_EQ(queue.workers(), world->size());
  EXPECT_EQ(queue.worker(), world->rank());
  EXPECT_EQ(queue.minimum(100 - world->rank()), 100 - (world->size() - 1));
  EXPECT_EQ(queue.minimum(std::numeric_limits<int64_t>::max()), std::numeric_limits<int64_t>::max());
  EXPECT_EQ(queue.minimum(std::numeric_limits<int64_t>::min()), std::numeric_limits<int64_t>::min());
  const auto results = queue.all_gather("plan " + std::to_string(queue.worker()));
  for (int w = 0; w < queue.workers(); ++w)
    EXPECT_EQ(results[static_cast<size_t>(w)], "plan " + std::to_string(w));
}

}  // namespace
}  // namespace galvatron::comm
