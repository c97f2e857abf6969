// Meshes: overlapping groups of several traffic classes in one list, shared when equal, and refused when the
// ranks disagree.
#include "comm/mesh.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "core/errors.hpp"
#include "mpi/comm/support.hpp"

namespace galvatron::comm {
namespace {

using test::view;

/// All groups of a line: neighbours overlap, then odd and even ranks, then everybody, then each alone.
std::vector<MeshGroup> many_groups(int size) {
  std::vector<MeshGroup> groups;
  for (int r = 0; r + 1 < size; ++r) groups.push_back({TrafficClass::pipeline, {r, r + 1}});
  for (const auto& partition : test::partitions(size))
    for (const auto& group : partition)
      for (const auto traffic : {TrafficClass::layer, TrafficClass::gradient})
        groups.push_back({traffic, group});
  return groups;
}

TEST(DeviceMesh, EveryGroupOfTheListTalksWithItsMembersOnly) {
  const auto world = mpi::make_world();
  const auto groups = many_groups(world->size());
  DeviceMesh mesh(*world, groups);
  for (const auto& group : groups) {
    if (std::find(group.ranks.begin(), group.ranks.end(), world->rank()) == group.ranks.end()) continue;
    auto& communicator = mesh.get(group.ranks, group.traffic);
    EXPECT_EQ(communicator.members(), group.ranks);
    std::vector<double> sum = {1.0 + world->rank()};
    double expected = 0.0;
    for (const int rank : group.ranks) expected += 1.0 + rank;
    communicator.all_reduce(view(sum), ReduceOp::sum);
    EXPECT_EQ(sum[0], expected) << communicator.name();
  }
}

TEST(DeviceMesh, EqualGroupsShareACommunicatorAndTrafficClassesDoNot) {
  const auto world = mpi::make_world();
  const auto everybody = test::partitions(world->size())[0][0];
  DeviceMesh mesh(*world, {{TrafficClass::layer, everybody},
                           {TrafficClass::gradient, everybody},
                           {TrafficClass::layer, everybody}});
  EXPECT_EQ(mesh.communicators(), 2);
  EXPECT_EQ(&mesh.get(everybody, TrafficClass::layer), &mesh.get(everybody, TrafficClass::layer));
  EXPECT_NE(&mesh.get(everybody, TrafficClass::layer), &mesh.get(everybody, TrafficClass::gradient));
}

TEST(DeviceMesh, AGroupOfThisRankAloneNeedsNoListing) {
  const auto world = mpi::make_world();
  DeviceMesh mesh(*world, {});
  auto& alone = mesh.get({world->rank()}, TrafficClass::layer);
  EXPECT_EQ(alone.size(), 1);
  EXPECT_EQ(alone.name(), "layer " + std::to_string(world->rank()));
}

TEST(DeviceMesh, AnUnlistedGroupIsNamed) {
  const auto world = mpi::make_world();
  DeviceMesh mesh(*world, {});
  try {
    mesh.get({0, 1}, TrafficClass::gradient);
    FAIL() << "an unlisted group was found";
  } catch (const core::InternalError& error) {
    EXPECT_NE(std::string(error.what()).find("'gradient 0,1'"), std::string::npos) << error.what();
  }
}

TEST(DeviceMesh, AMalformedGroupFailsOnEveryRank) {
  const auto world = mpi::make_world();
  EXPECT_THROW(DeviceMesh(*world, {{TrafficClass::layer, {}}}), core::InternalError);
  EXPECT_THROW(DeviceMesh(*world, {{TrafficClass::layer, {0, 0}}}), core::InternalError);
  EXPECT_THROW(DeviceMesh(*world, {{TrafficClass::layer, {0, world->size()}}}), core::InternalError);
}

TEST(DeviceMesh, DifferentListsAreFoundInsteadOfHanging) {
  const auto world = mpi::make_world();
  if (world->size() == 1) GTEST_SKIP() << "needs two ranks";
  std::vector<MeshGroup> groups = {{TrafficClass::layer, {0, 1}}};
  if (world->rank() == 1) groups.push_back({TrafficClass::pipeline, {0, 1}});
  try {
    DeviceMesh mesh(*world, groups);
    FAIL() << "rank 1's other list was accepted";
  } catch (const core::InternalError& error) {
    EXPECT_NE(std::string(error.what()).find("rank 1 lists other mesh groups"), std::string::npos)
        << error.what();
  }
}

}  // namespace
}  // namespace galvatron::comm
