// Every collective against its definition, element by element: on the whole world, on odd and even ranks, in
// reverse order and alone, for sizes around the places where the implementation changes its way.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>

#include "comm/group.hpp"
#include "comm/mpi/check.hpp"
#include "comm/mpi/comm_handle.hpp"
#include "comm/mpi/mpi_communicator.hpp"
#include "core/errors.hpp"
#include "mpi/comm/support.hpp"

namespace galvatron::comm {
namespace {

using test::filled;
using test::pattern;
using test::rough;
using test::view;

constexpr int64_t sizes[] = {0, 1, 5, 1000, 2049, 70001};

template <class T>
class Collectives : public testing::Test {
 protected:
  std::unique_ptr<World> world = mpi::make_world();

  /// Calls `body(communicator)` for this rank's group of every partition.
  template <class Body>
  void for_each_group(Body body) {
    for (const auto& partition : test::partitions(world->size())) {
      auto communicator =
          world->make_communicator(test::group_of(partition, world->rank()), TrafficClass::layer);
      SCOPED_TRACE("communicator '" + communicator->name() + "'");
      body(*communicator);
    }
  }
};

/// The first element that differs, as text; empty when all are equal.
template <class T, class Expected>
std::string difference(const std::vector<T>& got, Expected expected) {
  for (size_t i = 0; i < got.size(); ++i) {
    if (got[i] != expected(static_cast<int64_t>(i)))
      return "element " + std::to_string(i) + " of " + std::to_string(got.size()) + ": expected " +
             std::to_string(expected(static_cast<int64_t>(i))) + ", got " + std::to_string(got[i]);
  }
  return {};
}

using AllTypes = testing::Types<float, double, int32_t, int64_t, uint8_t>;
TYPED_TEST_SUITE(Collectives, AllTypes);

TYPED_TEST(Collectives, GroupsKnowTheirMembers) {
  this->for_each_group([&](Communicator& group) {
    ASSERT_EQ(group.size(), static_cast<int>(group.members().size()));
    EXPECT_EQ(group.members().at(static_cast<size_t>(group.index())), this->world->rank());
  });
}

TYPED_TEST(Collectives, AllGatherPutsBlocksInMemberOrder) {
  using T = TypeParam;
  this->for_each_group([&](Communicator& group) {
    for (const auto n : sizes) {
      auto in = filled<T>(this->world->rank(), n);
      std::vector<T> out(static_cast<size_t>(n * group.size()));
      group.all_gather(view(in), view(out));
      EXPECT_EQ(difference(out, [&](int64_t i) { return pattern<T>(group.members()[i / n], i % n); }), "");
    }
  });
}

TYPED_TEST(Collectives, AllGatherTakesItsOwnBlockInPlace) {
  using T = TypeParam;
  this->for_each_group([&](Communicator& group) {
    const int64_t n = 777;
    std::vector<T> out(static_cast<size_t>(n * group.size()));
    const auto mine = filled<T>(this->world->rank(), n);
    std::copy(mine.begin(), mine.end(), out.begin() + group.index() * n);
    auto own = view(out);
    own.data += group.index() * n * static_cast<int64_t>(sizeof(T));
    own.cols = own.row_stride = n;
    group.all_gather(own, view(out));
    EXPECT_EQ(difference(out, [&](int64_t i) { return pattern<T>(group.members()[i / n], i % n); }), "");
  });
}

TYPED_TEST(Collectives, AllToAllTransposesBlocks) {
  using T = TypeParam;
  this->for_each_group([&](Communicator& group) {
    for (const auto n : sizes) {
      auto in = filled<T>(this->world->rank(), n * group.size());
      std::vector<T> out(in.size());
      group.all_to_all(view(in), view(out));
      EXPECT_EQ(
          difference(
              out, [&](int64_t i) { return pattern<T>(group.members()[i / n], group.index() * n + i % n); }),
          "");
    }
  });
}

TYPED_TEST(Collectives, BroadcastComesFromTheRoot) {
  using T = TypeParam;
  this->for_each_group([&](Communicator& group) {
    for (int root = 0; root < group.size(); ++root) {
      auto data = filled<T>(this->world->rank(), 1234);
      group.broadcast(view(data), root);
      EXPECT_EQ(difference(data, [&](int64_t i) { return pattern<T>(group.members()[root], i); }), "")
          << "root " << root;
    }
  });
}

template <class T>
class Reductions : public Collectives<T> {};
using RealTypes = testing::Types<float, double>;
TYPED_TEST_SUITE(Reductions, RealTypes);

TYPED_TEST(Reductions, AllReduceSumsAndTakesTheMaximum) {
  using T = TypeParam;
  this->for_each_group([&](Communicator& group) {
    for (const auto n : sizes) {
      auto sum = filled<T>(this->world->rank(), n);
      auto maximum = sum;
      group.all_reduce(view(sum), ReduceOp::sum);
      group.all_reduce(view(maximum), ReduceOp::max);
      const auto total = [&](int64_t i) {
        T value = 0;
        for (const int member : group.members()) value += pattern<T>(member, i);
        return value;
      };
      const auto greatest = [&](int64_t i) {
        T value = 0;
        for (const int member : group.members()) value = std::max(value, pattern<T>(member, i));
        return value;
      };
      EXPECT_EQ(difference(sum, total), "");
      EXPECT_EQ(difference(maximum, greatest), "");
    }
  });
}

TYPED_TEST(Reductions, ReduceScatterGivesEachMemberItsBlock) {
  using T = TypeParam;
  this->for_each_group([&](Communicator& group) {
    for (const auto n : sizes) {
      auto in = filled<T>(this->world->rank(), n * group.size());
      std::vector<T> out(static_cast<size_t>(n));
      group.reduce_scatter(view(in), view(out));
      const auto total = [&](int64_t i) {
        T value = 0;
        for (const int member : group.members()) value += pattern<T>(member, group.index() * n + i);
        return value;
      };
      EXPECT_EQ(difference(out, total), "");
    }
  });
}

TYPED_TEST(Reductions, ReduceScatterMayWriteOntoItsOwnBlock) {
  using T = TypeParam;
  this->for_each_group([&](Communicator& group) {
    for (const int64_t n : {int64_t{5}, int64_t{70001}}) {
      auto in = rough<T>(this->world->rank(), n * group.size());
      std::vector<T> apart(static_cast<size_t>(n));
      group.reduce_scatter(view(in), view(apart));
      in = rough<T>(this->world->rank(), n * group.size());
      auto own = view(in);
      own.data += group.index() * n * static_cast<int64_t>(sizeof(T));
      own.cols = own.row_stride = n;
      group.reduce_scatter(view(in), own);
      const auto* got = own.template as<T>();
      EXPECT_EQ(difference(apart, [&](int64_t i) { return got[i]; }), "") << "blocks of " << n;
    }
  });
}

TYPED_TEST(Reductions, AddInMemberOrderToTheLastBit) {
  using T = TypeParam;
  this->for_each_group([&](Communicator& group) {
    for (const auto n : sizes) {
      auto data = rough<T>(this->world->rank(), n);
      group.all_reduce(view(data), ReduceOp::sum);
      std::vector<T> expected = rough<T>(group.members()[0], n);
      for (int m = 1; m < group.size(); ++m) {
        const auto part = rough<T>(group.members()[m], n);
        for (size_t i = 0; i < expected.size(); ++i) expected[i] += part[i];
      }
      EXPECT_EQ(difference(data, [&](int64_t i) { return expected[static_cast<size_t>(i)]; }), "");
    }
  });
}

TYPED_TEST(Reductions, ReduceScatterThenAllGatherHasTheBitsOfAllReduce) {
  using T = TypeParam;
  this->for_each_group([&](Communicator& group) {
    const int64_t n = 40001;
    auto whole = rough<T>(this->world->rank(), n * group.size());
    std::vector<T> part(static_cast<size_t>(n));
    std::vector<T> gathered(whole.size());
    group.reduce_scatter(view(whole), view(part));
    group.all_gather(view(part), view(gathered));
    group.all_reduce(view(whole), ReduceOp::sum);
    EXPECT_EQ(difference(gathered, [&](int64_t i) { return whole[static_cast<size_t>(i)]; }), "");
  });
}

TYPED_TEST(Reductions, ANotANumberSurvivesTheMaximum) {
  using T = TypeParam;
  this->for_each_group([&](Communicator& group) {
    for (int bad = 0; bad < group.size(); ++bad) {
      auto data = filled<T>(this->world->rank(), 3);
      if (group.index() == bad) data[1] = std::numeric_limits<T>::quiet_NaN();
      group.all_reduce(view(data), ReduceOp::max);
      EXPECT_TRUE(std::isnan(data[1])) << "member " << bad << " had it, got " << data[1];
      EXPECT_FALSE(std::isnan(data[0]) || std::isnan(data[2]));
    }
  });
}

/// Blocks beyond MPI's int counts travel in pieces; small limits make the pieces small enough to test.
TEST(Limits, BlocksLongerThanOneMessageArriveWhole) {
  const auto world = mpi::make_world();
  if (world->size() == 1) GTEST_SKIP() << "a group of one sends no messages";
  const auto everybody = test::partitions(world->size())[0][0];
  MPI_Comm copy = MPI_COMM_NULL;
  GALV_MPI(MPI_Comm_split(MPI_COMM_WORLD, 0, world->rank(), &copy));
  mpi::MpiCommunicator group(make_group(everybody, TrafficClass::layer, world->rank(), world->size()),
                             mpi::CommHandle(copy, "limits"),
                             {.largest_message = 64, .gather_reduce = 16, .round = 40});
  const int64_t n = 101;

  auto in = filled<float>(world->rank(), n);
  std::vector<float> out(static_cast<size_t>(n * group.size()));
  group.all_gather(view(in), view(out));
  EXPECT_EQ(difference(out, [&](int64_t i) { return pattern<float>(static_cast<int>(i / n), i % n); }), "");

  auto blocks = filled<float>(world->rank(), n * group.size());
  group.all_to_all(view(blocks), view(out));
  EXPECT_EQ(
      difference(
          out, [&](int64_t i) { return pattern<float>(static_cast<int>(i / n), group.index() * n + i % n); }),
      "");

  auto sum = filled<float>(world->rank(), n);
  group.all_reduce(view(sum), ReduceOp::sum);
  EXPECT_EQ(difference(sum,
                       [&](int64_t i) {
                         float value = 0;
                         for (int r = 0; r < group.size(); ++r) value += pattern<float>(r, i);
                         return value;
                       }),
            "");

  auto data = filled<float>(world->rank(), n);
  group.broadcast(view(data), group.size() - 1);
  EXPECT_EQ(difference(data, [&](int64_t i) { return pattern<float>(group.size() - 1, i); }), "");

  std::vector<float> received(static_cast<size_t>(n));
  auto receive = group.receive(view(received), (group.index() + group.size() - 1) % group.size(), 0);
  auto send = group.send(view(in), (group.index() + 1) % group.size(), 0);
  receive.wait();
  send.wait();
  EXPECT_EQ(difference(received,
                       [&](int64_t i) {
                         return pattern<float>((group.index() + group.size() - 1) % group.size(), i);
                       }),
            "");
}

TEST(Contract, BrokenCallsNameTheCommunicatorAndTheSizes) {
  const auto world = mpi::make_world();
  const auto everybody = test::partitions(world->size())[0][0];
  const auto group = world->make_communicator(everybody, TrafficClass::gradient);
  std::vector<float> three(3);
  std::vector<float> wrong(static_cast<size_t>(3 * world->size() + 1));
  std::vector<int32_t> whole_numbers(3);
  try {
    group->all_gather(view(three), view(wrong));
    FAIL() << "a wrong size was accepted";
  } catch (const core::InternalError& error) {
    const std::string text = error.what();
    EXPECT_NE(text.find("all_gather on communicator 'gradient 0"), std::string::npos) << text;
    EXPECT_NE(text.find("blocks of 3 elements"), std::string::npos) << text;
  }
  EXPECT_THROW(group->all_reduce(view(whole_numbers), ReduceOp::sum), core::InternalError);
  EXPECT_THROW(group->broadcast(view(three), world->size()), core::InternalError);
  EXPECT_THROW(group->send(view(three), group->index()), core::InternalError);
  EXPECT_THROW(group->receive(view(three), -1), core::InternalError);
  EXPECT_THROW(group->shift(view(three), view(wrong)), core::InternalError);
}

}  // namespace
}  // namespace galvatron::comm
