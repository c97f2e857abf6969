// Every form of every collective against its definition, on pretended nodes: exact for whole numbers, to the
// bit equal on all members, to the bit equal to the direct form where that is promised.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <functional>
#include <random>

#include "comm/group.hpp"
#include "comm/mpi/check.hpp"
#include "comm/mpi/formed_communicator.hpp"
#include "core/errors.hpp"
#include "core/half.hpp"
#include "mpi/comm/support.hpp"

namespace galvatron::comm {
namespace {

using core::CollectiveKind;
using core::Form;
using test::filled;
using test::pattern;
using test::rough;
using test::view;

constexpr int64_t sizes[] = {0, 1, 1027, 70001};

core::FormTable always(Form form) {
  core::FormTable table;
  for (const auto kind : {CollectiveKind::all_reduce, CollectiveKind::all_gather,
                          CollectiveKind::reduce_scatter, CollectiveKind::all_to_all})
    if (form == Form::shared || kind != CollectiveKind::all_to_all) table.rows.push_back({kind, 0, form});
  return table;
}

/// One node; pairs; ranks dealt to two nodes in turn; one rank apart from the others.
const std::vector<std::pair<const char*, mpi::PretendedNode>> node_maps = {
    {"one node", [](int) { return 0; }},
    {"pairs", [](int rank) { return rank / 2; }},
    {"in turn", [](int rank) { return rank % 2; }},
    {"one apart", [](int rank) { return rank == 0 ? 1 : 0; }},
};

/// Calls `body(group with the form, the same group direct)` for every node map and every group that can have
/// a form.
void for_each_form(const std::function<void(Communicator&, Communicator&, Form)>& body) {
  for (const auto& [name, map] : node_maps) {
    const auto world = mpi::make_world(map);
    for (const auto& partition : test::partitions(world->size())) {
      const auto& ranks = test::group_of(partition, world->rank());
      if (ranks.size() == 1) continue;
      std::vector<int> nodes;
      for (const int rank : ranks) nodes.push_back(world->node_of(rank));
      const auto placement = placement_of(nodes);
      for (const auto form : {Form::hierarchical, Form::shared}) {
        if (!core::form_fault(form, CollectiveKind::all_reduce, static_cast<int>(ranks.size()),
                              placement.nodes, placement.per_node)
                 .empty())
          continue;
        const auto formed = world->make_communicator(ranks, TrafficClass::layer, always(form));
        const auto direct = world->make_communicator(ranks, TrafficClass::layer);
        SCOPED_TRACE(std::string(core::name_of(form)) + " on '" + formed->name() + "', nodes: " + name);
        body(*formed, *direct, form);
      }
    }
  }
}

/// True when all members hold the same bytes.
template <class T>
bool same_everywhere(Communicator& group, std::vector<T> data) {
  std::vector<T> all(data.size() * static_cast<size_t>(group.size()));
  group.all_gather(view(data), view(all));
  for (int member = 0; member < group.size(); ++member)
    if (std::memcmp(all.data() + static_cast<size_t>(member) * data.size(), data.data(),
                    data.size() * sizeof(T)) != 0)
      return false;
  return true;
}

TEST(Forms, AllReduceSumsAndTakesTheMaximum) {
  for_each_form([](Communicator& group, Communicator& direct, Form form) {
    const int rank = group.members()[static_cast<size_t>(group.index())];
    for (const auto n : sizes) {
      auto sum = filled<double>(rank, n), maximum = sum;
      std::vector<double> total(sum.size()), greatest(sum.size());
      for (const int member : group.members()) {
        for (size_t i = 0; i < total.size(); ++i) {
          total[i] += pattern<double>(member, static_cast<int64_t>(i));
          greatest[i] = std::max(greatest[i], pattern<double>(member, static_cast<int64_t>(i)));
        }
      }
      group.all_reduce(view(sum), ReduceOp::sum);
      group.all_reduce(view(maximum), ReduceOp::max);
      EXPECT_EQ(sum, total) << n << " elements";
      EXPECT_EQ(maximum, greatest) << n << " elements";

      auto formed = rough<float>(rank, n), plain = formed;
      group.all_reduce(view(formed), ReduceOp::sum);
      direct.all_reduce(view(plain), ReduceOp::sum);
      EXPECT_TRUE(same_everywhere(direct, formed)) << n << " elements";
      if (form == Form::shared) EXPECT_EQ(formed, plain) << n << " elements";
      for (size_t i = 0; i < plain.size(); ++i)
        ASSERT_NEAR(formed[i], plain[i], 1e-6 * 1e7 * group.size()) << "element " << i << " of " << n;
    }
  });
}

TEST(Forms, ReduceScatterGivesEachMemberItsBlock) {
  for_each_form([](Communicator& group, Communicator& direct, Form form) {
    const int rank = group.members()[static_cast<size_t>(group.index())];
    for (const auto n : sizes) {
      auto in = filled<double>(rank, n * group.size());
      std::vector<double> out(static_cast<size_t>(n)), total(out.size());
      for (const int member : group.members())
        for (int64_t i = 0; i < n; ++i)
          total[static_cast<size_t>(i)] += pattern<double>(member, group.index() * n + i);
      group.reduce_scatter(view(in), view(out));
      EXPECT_EQ(out, total) << n << " elements";
      EXPECT_EQ(in, filled<double>(rank, n * group.size())) << "the input changed";

      auto own = view(in);
      own.data += group.index() * n * 8;
      own.cols = own.row_stride = n;
      group.reduce_scatter(view(in), own);
      EXPECT_TRUE(n == 0 || std::equal(total.begin(), total.end(), own.as<double>())) << n << " in place";

      if (form != Form::shared) continue;
      auto whole = rough<float>(rank, n * group.size());
      std::vector<float> formed(static_cast<size_t>(n)), plain = formed;
      group.reduce_scatter(view(whole), view(formed));
      direct.reduce_scatter(view(whole), view(plain));
      EXPECT_EQ(formed, plain) << n << " elements";
    }
  });
}

TEST(Forms, AllGatherPutsBlocksInMemberOrder) {
  for_each_form([](Communicator& group, Communicator&, Form) {
    const int rank = group.members()[static_cast<size_t>(group.index())];
    for (const auto n : sizes) {
      for (const bool in_place : {false, true}) {
        auto in = filled<uint8_t>(rank, n);
        std::vector<uint8_t> out(static_cast<size_t>(n * group.size())), expected;
        for (const int member : group.members()) {
          const auto block = filled<uint8_t>(member, n);
          expected.insert(expected.end(), block.begin(), block.end());
        }
        auto own = view(in);
        if (in_place && n > 0) {
          own.data = reinterpret_cast<std::byte*>(out.data()) + group.index() * n;
          std::memcpy(own.data, in.data(), in.size());
        }
        group.all_gather(own, view(out));
        EXPECT_EQ(out, expected) << n << " elements";
      }
    }
  });
}

TEST(Forms, AllToAllTransposesBlocks) {
  for_each_form([](Communicator& group, Communicator& direct, Form) {
    const int rank = group.members()[static_cast<size_t>(group.index())];
    for (const auto n : sizes) {
      auto in = filled<float>(rank, n * group.size());
      std::vector<float> formed(in.size()), plain(in.size());
      group.all_to_all(view(in), view(formed));
      direct.all_to_all(view(in), view(plain));
      EXPECT_EQ(formed, plain) << n << " elements";
    }
  });
}

TEST(Forms, SixteenBitsAreTheSameEverywhere) {
  for_each_form([](Communicator& group, Communicator& direct, Form form) {
    const int rank = group.members()[static_cast<size_t>(group.index())];
    for (const int64_t n : {5, 5001, 70001}) {
      std::vector<uint16_t> formed;
      for (int64_t i = 0; i < n; ++i)
        formed.push_back(core::f32_to_bf16(static_cast<float>((rank + 3) * (i % 101)) / 7.0f));
      auto plain = formed;
      group.all_reduce(test::half_view(formed, core::DType::bf16), ReduceOp::sum);
      direct.all_reduce(test::half_view(plain, core::DType::bf16), ReduceOp::sum);
      std::vector<uint8_t> bytes(formed.size() * 2);
      std::memcpy(bytes.data(), formed.data(), bytes.size());
      EXPECT_TRUE(same_everywhere(direct, bytes)) << n << " elements";
      if (form == Form::shared) EXPECT_EQ(formed, plain) << n << " elements";
    }
  });
}

/// Small areas, so that every size takes several rounds, and many calls of all kinds after each other, so
/// that a round that writes where another is still read is seen.
TEST(Forms, ManyCallsThroughLittleMemoryDoNotDisturbEachOther) {
  const auto world = mpi::make_world();
  if (world->size() == 1) GTEST_SKIP() << "a group of one shares nothing";
  const auto everybody = test::partitions(world->size())[0][0];
  MPI_Comm copy = MPI_COMM_NULL;
  GALV_MPI(MPI_Comm_split(MPI_COMM_WORLD, 0, world->rank(), &copy));
  const auto group_values = make_group(everybody, TrafficClass::layer, world->rank(), world->size());
  const mpi::Limits limits{.largest_message = 64, .gather_reduce = 16, .round = 48, .shared_area = 192};
  const auto group = mpi::with_forms(
      std::make_unique<mpi::MpiCommunicator>(group_values, mpi::CommHandle(copy, "forms"), limits),
      group_values, std::vector<int>(everybody.size(), 0), always(Form::shared), limits);
  std::mt19937 random(20260101);
  for (int call = 0; call < 120; ++call) {
    const auto n = static_cast<int64_t>(random() % 200), blocks = n * group->size();
    const auto kind = random() % 4;
    const auto value = [&](int member, int64_t i) { return pattern<float>(member + call, i); };
    auto in = filled<float>(world->rank() + call, kind == 0 || kind == 1 ? n : blocks);
    std::vector<float> out(static_cast<size_t>(kind == 1 || kind == 3 ? blocks : n)), expected(out.size());
    for (size_t k = 0; k < expected.size(); ++k) {
      const auto i = static_cast<int64_t>(k);
      if (kind == 1) expected[k] = value(static_cast<int>(i / n), i % n);
      if (kind == 3) expected[k] = value(static_cast<int>(i / n), group->index() * n + i % n);
      for (int member = 0; kind % 2 == 0 && member < group->size(); ++member)
        expected[k] += value(member, kind == 0 ? i : group->index() * n + i);
    }
    if (kind == 0) {
      group->all_reduce(view(in), ReduceOp::sum);
      out = in;
    }
    if (kind == 1) group->all_gather(view(in), view(out));
    if (kind == 2) group->reduce_scatter(view(in), view(out));
    if (kind == 3) group->all_to_all(view(in), view(out));
    ASSERT_EQ(out, expected) << "call " << call << " of kind " << kind << " with " << n << " elements";
  }
}

TEST(Forms, AMessageUnderWayArrivesWhileItsSenderWaitsInSharedMemory) {
  const auto world = mpi::make_world();
  if (world->size() == 1) GTEST_SKIP() << "needs two ranks";
  const auto everybody = test::partitions(world->size())[0][0];
  const auto messages = world->make_communicator(everybody, TrafficClass::pipeline);
  const auto group = world->make_communicator(everybody, TrafficClass::layer, always(Form::shared));
  std::vector<float> sum(1, 1.0f), in(2000000);
  auto out = filled<float>(world->rank(), 2000000);
  if (world->rank() == 0) {
    auto sent = messages->send(view(out), 1);
    group->all_reduce(view(sum), ReduceOp::sum);
    sent.wait();
  } else {
    if (world->rank() == 1) messages->receive(view(in), 0).wait();  // before it comes to the meeting
    group->all_reduce(view(sum), ReduceOp::sum);
  }
  EXPECT_EQ(sum[0], static_cast<float>(world->size()));
  if (world->rank() == 1) EXPECT_EQ(in, filled<float>(0, 2000000));
}

TEST(Forms, AreRefusedWhereTheNodesDoNotAllowThem) {
  const auto apart = mpi::make_world([](int rank) { return rank; });
  if (apart->size() == 1) GTEST_SKIP() << "a group of one has no forms";
  const auto everybody = test::partitions(apart->size())[0][0];
  for (const auto form : {Form::shared, Form::hierarchical}) {
    try {
      apart->make_communicator(everybody, TrafficClass::layer, always(form));
      FAIL() << core::name_of(form) << " was accepted";
    } catch (const core::InternalError& error) {
      EXPECT_NE(std::string(error.what()).find("all_reduce on communicator 'layer 0"), std::string::npos)
          << error.what();
    }
  }
}

}  // namespace
}  // namespace galvatron::comm
