// Curves of real collectives: one per kind and shape, usable for interpolation, within their time.
#include "measure/collectives.hpp"

#include <gtest/gtest.h>
#include <mpi.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "comm/mpi/mpi_world.hpp"
#include "core/format.hpp"
#include "measure/collective_call.hpp"
#include "measure/sampler.hpp"
#include "mpi/measure/support.hpp"

namespace galvatron::measure {
namespace {

using test::Live;

CollectiveOptions small_options() {
  CollectiveOptions options;
  options.kinds.push_back(core::CollectiveKind::broadcast);
  options.sizes = geometric_sizes(1024, 65536, 8);
  options.iterations = 5;
  options.seconds_per_point = 0.01;
  return options;
}

TEST(Collectives, EveryKindAndShapeHasACurve) {
  Live live;
  const auto options = small_options();
  const auto sets = group_sets(live.nodes());
  cost::HardwareProfile profile;
  store::RawTable raw;
  Budget budget(*live.world, 20);
  budget.begin("collectives", 1.0);
  const auto coverage = measure_collectives(*live.world, *live.device, sets, options, budget, profile, raw);
  EXPECT_EQ(coverage.measured, coverage.wanted);
  EXPECT_EQ(profile.collectives.size(), sets.size() * options.kinds.size());
  std::string text;
  for (const auto& [key, curve] : profile.collectives) {
    const auto name = core::format("collective {} of {} ranks", static_cast<int>(key.kind), key.shape.ranks);
    ASSERT_EQ(curve.points.size(), options.sizes.size()) << name;
    for (size_t i = 0; i < curve.points.size(); ++i) {
      const auto& p = curve.points[i];
      EXPECT_GT(p.seconds, 0) << name;
      EXPECT_TRUE(std::isfinite(p.seconds)) << name;
      EXPECT_LE(p.minimum, p.p95) << name;
      EXPECT_GE(p.x, static_cast<double>(options.sizes[i])) << name;
      EXPECT_EQ(static_cast<int64_t>(p.x) % (4 * key.shape.ranks), 0) << name << ": parts are equal";
      if (i > 0) {
        EXPECT_LT(curve.points[i - 1].x, p.x) << name;
      }
      text += core::format("{} {}\n", p.x, p.seconds);
    }
  }
  EXPECT_TRUE(live.same_everywhere(text)) << "ranks hold different curves";
  EXPECT_GE(raw.series.size(), static_cast<size_t>(coverage.measured)) << "one series a point and form";
  for (const auto& series : raw.series) EXPECT_GE(series.samples.size(), 3u) << series.of;
}

TEST(Collectives, WhatTheProfileHoldsIsNotMeasuredAgain) {
  Live live;
  const auto options = small_options();
  const auto sets = group_sets(live.nodes());
  cost::HardwareProfile whole;
  store::RawTable raw;
  Budget budget(*live.world, 20);
  budget.begin("collectives", 1.0);
  measure_collectives(*live.world, *live.device, sets, options, budget, whole, raw);
  auto part = whole;
  for (auto& [key, curve] : part.collectives)
    if (key.kind == core::CollectiveKind::shift) curve.points.pop_back();
  const auto before = part;
  store::RawTable more;
  const auto coverage = measure_collectives(*live.world, *live.device, sets, options, budget, part, more);
  EXPECT_EQ(coverage.measured, coverage.wanted);
  EXPECT_EQ(coverage.kept, coverage.wanted - static_cast<int64_t>(sets.size())) << "a shift of each shape";
  for (const auto& [key, curve] : part.collectives) {
    const auto name = core::format("{} of {} ranks", core::name_of(key.kind), key.shape.ranks);
    ASSERT_EQ(curve.points.size(), options.sizes.size()) << name;
    for (size_t i = 0; i < before.collectives.at(key).points.size(); ++i)
      EXPECT_EQ(curve.points[i].seconds, whole.collectives.at(key).points[i].seconds) << name << ", kept";
  }
  for (const auto& series : more.series) EXPECT_EQ(series.of.rfind("shift ", 0), 0u) << series.of;
}

/// The call itself.
void plain_call(core::CollectiveKind kind, std::vector<float>& in, std::vector<float>& out, int elements,
                int ranks) {
  const int part = elements / ranks;
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  switch (kind) {
    case core::CollectiveKind::all_reduce:
      MPI_Allreduce(MPI_IN_PLACE, in.data(), elements, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
      break;
    case core::CollectiveKind::all_gather:
      MPI_Allgather(in.data(), part, MPI_FLOAT, out.data(), part, MPI_FLOAT, MPI_COMM_WORLD);
      break;
    case core::CollectiveKind::reduce_scatter:
      MPI_Reduce_scatter_block(in.data(), out.data(), part, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
      break;
    case core::CollectiveKind::all_to_all:
      MPI_Alltoall(in.data(), part, MPI_FLOAT, out.data(), part, MPI_FLOAT, MPI_COMM_WORLD);
      break;
    default:
      MPI_Sendrecv(in.data(), elements, MPI_FLOAT, (rank + 1) % ranks, 0, out.data(), elements, MPI_FLOAT,
                   (rank + ranks - 1) % ranks, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
}

/// Seconds of the call in a plain loop, by the message library's own clock: of the slowest rank, the least of
/// the repetitions, because other programs may run here.
double plain_seconds(core::CollectiveKind kind, std::vector<float>& in, std::vector<float>& out, int elements,
                     int ranks) {
  std::vector<double> seconds(60);
  for (auto& one : seconds) {
    MPI_Barrier(MPI_COMM_WORLD);
    const double begin = MPI_Wtime();
    plain_call(kind, in, out, elements, ranks);
    one = MPI_Wtime() - begin;
  }
  MPI_Allreduce(MPI_IN_PLACE, seconds.data(), static_cast<int>(seconds.size()), MPI_DOUBLE, MPI_MAX,
                MPI_COMM_WORLD);
  return *std::min_element(seconds.begin(), seconds.end());
}

TEST(Collectives, AgreeWithAPlainLoopOfTheCallItself) {
  Live live;
  const int ranks = live.world->size();
  if (ranks < 2) GTEST_SKIP() << "one rank has nobody to talk to";
  constexpr int64_t bytes = 1 << 20;
  CollectiveOptions options;
  options.sizes = {bytes};
  options.seconds_per_point = 0.2;
  std::vector<int> everyone(static_cast<size_t>(ranks));
  std::iota(everyone.begin(), everyone.end(), 0);
  const std::vector<GroupSet> world_only = {{shape_of(everyone, live.nodes()), {everyone}}};
  cost::HardwareProfile profile;
  store::RawTable raw;
  Budget budget(*live.world, 20);
  budget.begin("collectives", 1.0);
  measure_collectives(*live.world, *live.device, world_only, options, budget, profile, raw);
  const auto elements = elements_for(bytes, ranks);
  std::vector<float> in(static_cast<size_t>(elements)), out(static_cast<size_t>(elements));
  for (const auto kind : options.kinds) {
    const auto& points = profile.collectives.at({kind, world_only[0].shape}).points;
    ASSERT_EQ(points.size(), 1u) << core::name_of(kind);
    EXPECT_EQ(points[0].x, static_cast<double>(elements * 4))
        << core::name_of(kind) << ": bytes of the whole";
    const auto name = std::string(core::name_of(kind)) + " direct, ";
    const auto direct = std::find_if(raw.series.begin(), raw.series.end(),
                                     [&](const auto& series) { return series.of.rfind(name, 0) == 0; });
    ASSERT_NE(direct, raw.series.end()) << name;
    const double measured = *std::min_element(direct->samples.begin(), direct->samples.end());
    double plain = plain_seconds(kind, in, out, static_cast<int>(elements), ranks);
    // Wide enough for another algorithm and for noise, far too narrow for a wrong unit, or for the time of
    // another size or of several calls.
    constexpr double factor = 10;
    // Where others keep the cores busy a whole loop may be late, so it gets more of them: the least counts.
    for (int again = 0; again < 30 && measured <= plain / factor; ++again)
      plain = std::min(plain, plain_seconds(kind, in, out, static_cast<int>(elements), ranks));
    EXPECT_LT(measured, factor * plain) << name << ranks << " ranks";
    EXPECT_GT(measured, plain / factor) << name << ranks << " ranks";
  }
}

TEST(Collectives, TheFormOfEverySizeIsOneThatTheGroupCanHave) {
  Live live;
  live.world = comm::mpi::make_world([](int rank) { return rank / 2; });  // two ranks to a node
  const auto nodes = nodes_of_ranks(*live.world);
  cost::HardwareProfile profile;
  store::RawTable raw;
  Budget budget(*live.world, 20);
  budget.begin("collectives", 1.0);
  measure_collectives(*live.world, *live.device, group_sets(nodes), small_options(), budget, profile, raw);
  EXPECT_TRUE(std::is_sorted(profile.forms.begin(), profile.forms.end()));
  std::string text;
  for (const auto& [ranks, on_nodes, per_node, row] : profile.forms) {
    const auto name = core::format("{} {} of {} ranks on {} nodes from {}", core::name_of(row.form),
                                   core::name_of(row.kind), ranks, on_nodes, row.from_bytes);
    EXPECT_EQ(core::form_fault(row.form, row.kind, ranks, on_nodes, per_node), "") << name;
    const auto curve = profile.collectives.find({row.kind, {ranks, on_nodes, per_node}});
    ASSERT_NE(curve, profile.collectives.end()) << name;
    const auto& points = curve->second.points;
    EXPECT_TRUE(row.from_bytes == 0 ||
                std::any_of(points.begin(), points.end(),
                            [&](const auto& p) { return p.x == static_cast<double>(row.from_bytes); }))
        << name << ": not a measured size";
    text += name + "\n";
  }
  EXPECT_TRUE(live.same_everywhere(text)) << "ranks choose different forms";
}

TEST(Collectives, KeepToTheBudget) {
  Live live;
  auto options = small_options();
  options.sizes = geometric_sizes(1024, 4 << 20, 4);
  options.iterations = 1000000;
  options.seconds_per_point = 10;
  cost::HardwareProfile profile;
  store::RawTable raw;
  Budget budget(*live.world, 0.4);
  budget.begin("collectives", 1.0);
  const double begin = now_seconds();
  measure_collectives(*live.world, *live.device, group_sets(live.nodes()), options, budget, profile, raw);
  // Slack: the minimum of samples is taken of every point that was begun.
  EXPECT_LT(now_seconds() - begin, 0.4 + 5.0);
}

TEST(Collectives, WithoutTimeNothingIsMeasured) {
  Live live;
  cost::HardwareProfile profile;
  store::RawTable raw;
  Budget budget(*live.world, 0);
  budget.begin("collectives", 1.0);
  const auto coverage = measure_collectives(*live.world, *live.device, group_sets(live.nodes()),
                                            small_options(), budget, profile, raw);
  EXPECT_EQ(coverage.measured, 0);
  EXPECT_TRUE(profile.collectives.empty());
}

}  // namespace
}  // namespace galvatron::measure
