// Which groups are measured: all shapes that plans can ask for, disjoint, once each.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <vector>

#include "measure/collectives.hpp"

namespace galvatron::measure {
namespace {

std::vector<int> nodes(int world, int per_node) {
  std::vector<int> out;
  for (int r = 0; r < world; ++r) out.push_back(r / per_node);
  return out;
}

const GroupSet* find(const std::vector<GroupSet>& sets, const cost::GroupShape& shape) {
  const auto it = std::find_if(sets.begin(), sets.end(), [&](const auto& s) { return s.shape == shape; });
  return it == sets.end() ? nullptr : &*it;
}

TEST(GroupSets, ShapeCountsNodes) {
  EXPECT_EQ(shape_of({0, 1, 4}, nodes(8, 4)), (cost::GroupShape{3, 2, 2}));
  EXPECT_EQ(shape_of({0, 4}, nodes(8, 4)), (cost::GroupShape{2, 2, 1}));
}

TEST(GroupSets, OneRankNeedsNone) {
  EXPECT_TRUE(group_sets(nodes(1, 1)).empty());
}

TEST(GroupSets, FourRanksOnOneNode) {
  const auto sets = group_sets(nodes(4, 4));
  ASSERT_EQ(sets.size(), 2u);
  EXPECT_EQ(sets[0].shape, (cost::GroupShape{2, 1, 2}));
  EXPECT_EQ(sets[0].groups, (std::vector<std::vector<int>>{{0, 1}, {2, 3}}));
  EXPECT_EQ(sets[1].shape, (cost::GroupShape{4, 1, 4}));
}

TEST(GroupSets, EightRanksOnTwoNodes) {
  const auto sets = group_sets(nodes(8, 4));
  for (const cost::GroupShape shape :
       {cost::GroupShape{2, 1, 2}, cost::GroupShape{2, 2, 1}, cost::GroupShape{4, 1, 4},
        cost::GroupShape{4, 2, 2}, cost::GroupShape{8, 2, 4}})
    EXPECT_NE(find(sets, shape), nullptr)
        << shape.ranks << " ranks, " << shape.nodes << " nodes, " << shape.per_node << " per node";
}

TEST(GroupSets, APrimeNumberOfStagesStillTiesItsEnds) {
  const auto sets = group_sets(nodes(3, 3));
  const auto* pair = find(sets, {2, 1, 2});
  ASSERT_NE(pair, nullptr) << "first and last stage of three share tied parameters";
  EXPECT_EQ(pair->groups, (std::vector<std::vector<int>>{{0, 2}}));
}

TEST(GroupSets, GroupsOfASetAreDisjointAndOfItsShape) {
  for (const int world : {2, 3, 5, 6, 7, 12, 16, 30}) {
    for (const int per_node : {1, 3, 4, 8}) {
      const auto node_of = nodes(world, per_node);
      std::set<cost::GroupShape> shapes;
      for (const auto& set : group_sets(node_of)) {
        EXPECT_TRUE(shapes.insert(set.shape).second) << "a shape twice, world " << world;
        std::set<int> seen;
        for (const auto& group : set.groups) {
          EXPECT_EQ(shape_of(group, node_of), set.shape);
          for (const int rank : group)
            EXPECT_TRUE(seen.insert(rank).second) << "rank " << rank << " in two groups, world " << world;
        }
      }
    }
  }
}

}  // namespace
}  // namespace galvatron::measure
