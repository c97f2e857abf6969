// Reductions of the 16-bit types: added in f32 in member order, rounded once, the same bits everywhere.
#include <gtest/gtest.h>

#include <span>

#include "core/half.hpp"
#include "mpi/comm/support.hpp"

namespace galvatron::comm {
namespace {

struct Format {
  core::DType dtype;
  float (*widen)(uint16_t);
  uint16_t (*round)(float);
};

const Format formats[] = {{core::DType::bf16, core::bf16_to_f32, core::f32_to_bf16},
                          {core::DType::f16, core::f16_to_f32, core::f32_to_f16}};
constexpr int64_t sizes[] = {0, 1, 1000, 4097, 70001};

std::vector<uint16_t> uneven(const Format& format, int rank, int64_t count) {
  std::vector<uint16_t> data;
  for (int64_t i = 0; i < count; ++i)
    data.push_back(
        format.round((rank % 2 ? -1.0f : 1.0f) * static_cast<float>(1 + (i * 37 + rank * 11) % 997) /
                     static_cast<float>(3 + i % 13)));
  return data;
}

std::vector<uint16_t> reduced(const Format& format, const std::vector<int>& members, int64_t count,
                              ReduceOp op) {
  std::vector<std::vector<uint16_t>> parts;
  for (const int member : members) parts.push_back(uneven(format, member, count));
  std::vector<uint16_t> out;
  for (size_t i = 0; i < static_cast<size_t>(count); ++i) {
    float value = format.widen(parts[0][i]);
    for (size_t p = 1; p < parts.size(); ++p) {
      const float next = format.widen(parts[p][i]);
      value = op == ReduceOp::sum ? value + next : std::max(value, next);
    }
    out.push_back(format.round(value));
  }
  return out;
}

TEST(HalfReductions, AreAddedInF32AndRoundedOnce) {
  const auto world = mpi::make_world();
  for (const auto& format : formats) {
    for (const auto& partition : test::partitions(world->size())) {
      const auto group =
          world->make_communicator(test::group_of(partition, world->rank()), TrafficClass::layer);
      for (const auto n : sizes) {
        for (const auto op : {ReduceOp::sum, ReduceOp::max}) {
          auto data = uneven(format, world->rank(), n);
          group->all_reduce(test::half_view(data, format.dtype), op);
          EXPECT_EQ(data, reduced(format, group->members(), n, op))
              << core::name(format.dtype) << " x " << n << " on '" << group->name() << "'";
        }
      }
    }
  }
}

TEST(HalfReductions, ReduceScatterGivesTheBlocksOfAllReduce) {
  const auto world = mpi::make_world();
  for (const auto& format : formats) {
    for (const auto& partition : test::partitions(world->size())) {
      const auto group =
          world->make_communicator(test::group_of(partition, world->rank()), TrafficClass::layer);
      const int64_t n = 33001;
      auto in = uneven(format, world->rank(), n * group->size());
      std::vector<uint16_t> out(static_cast<size_t>(n));
      group->reduce_scatter(test::half_view(in, format.dtype), test::half_view(out, format.dtype));
      const auto whole = reduced(format, group->members(), n * group->size(), ReduceOp::sum);
      const auto own =
          std::span(whole).subspan(static_cast<size_t>(group->index() * n), static_cast<size_t>(n));
      EXPECT_TRUE(std::equal(out.begin(), out.end(), own.begin()))
          << core::name(format.dtype) << " on '" << group->name() << "'";
    }
  }
}

}  // namespace
}  // namespace galvatron::comm
