// The circle method must let every pair meet exactly once and never put a rank into two pairs of a round.
#include "measure/tournament.hpp"

#include <gtest/gtest.h>

#include <map>
#include <set>
#include <vector>

namespace galvatron::measure {
namespace {

class Tournament : public testing::TestWithParam<int> {};

TEST_P(Tournament, EveryPairMeetsOnce) {
  const int n = GetParam();
  std::map<Pair, int> meetings;
  for (const auto& round : tournament(n))
    for (const auto& pair : round) ++meetings[pair];
  for (int a = 0; a < n; ++a)
    for (int b = a + 1; b < n; ++b)
      EXPECT_EQ((meetings[{a, b}]), 1) << "pair " << a << "," << b << " of " << n << " players";
  EXPECT_EQ(static_cast<int>(meetings.size()), n * (n - 1) / 2) << "pairs outside 0 … " << n - 1;
}

TEST_P(Tournament, NobodyPlaysTwiceInARound) {
  const int n = GetParam();
  int number = 0;
  for (const auto& round : tournament(n)) {
    std::set<int> seen;
    for (const auto& pair : round) {
      EXPECT_TRUE(seen.insert(pair.low).second) << "rank " << pair.low << " twice in round " << number;
      EXPECT_TRUE(seen.insert(pair.high).second) << "rank " << pair.high << " twice in round " << number;
    }
    EXPECT_EQ(static_cast<int>(round.size()), n / 2) << "round " << number << " of " << n << " players";
    ++number;
  }
}

TEST_P(Tournament, AsFewRoundsAsPossible) {
  const int n = GetParam();
  const int expected = n < 2 ? 0 : (n % 2 == 0 ? n - 1 : n);
  EXPECT_EQ(static_cast<int>(tournament(n).size()), expected) << n << " players";
}

std::vector<int> even_nodes(int ranks, int per_node) {
  std::vector<int> node_of;
  for (int r = 0; r < ranks; ++r) node_of.push_back(r / per_node);
  return node_of;
}

TEST_P(Tournament, SlotsHoldEveryPairOnceAndShareNoNode) {
  const int n = GetParam();
  for (const int per_node : {1, 2, 3, 8}) {
    const auto node_of = even_nodes(n, per_node);
    std::set<Pair> seen;
    for (const auto& slot : slots_by_worth(node_of, 7)) {
      EXPECT_FALSE(slot.empty());
      std::set<int> nodes;
      for (const auto& pair : slot) {
        EXPECT_TRUE(seen.insert(pair).second) << "pair " << pair.low << "," << pair.high << " twice";
        const std::set<int> own = {node_of.at(static_cast<size_t>(pair.low)),
                                   node_of.at(static_cast<size_t>(pair.high))};
        for (const int node : own)
          EXPECT_TRUE(nodes.insert(node).second)
              << "node " << node << " twice in a slot, " << per_node << " ranks per node";
      }
    }
    EXPECT_EQ(static_cast<int>(seen.size()), n * (n - 1) / 2) << per_node << " ranks per node";
  }
}

TEST_P(Tournament, WhatIsWorthMostComesFirst) {
  const auto node_of = even_nodes(GetParam(), 3);
  const auto slots = slots_by_worth(node_of, 7);
  auto last = PairKind::inside;
  for (size_t i = 0; i < slots.size(); ++i) {
    if (i == 1) continue;  // a slot of the other tier, so that little time suffices for both
    for (const auto& pair : slots[i]) {
      const auto kind = kind_of(pair, node_of);
      EXPECT_GE(kind, last) << "pair " << pair.low << "," << pair.high;
      last = kind;
    }
  }
  if (GetParam() > 3) {
    EXPECT_EQ(kind_of(slots[0].front(), node_of), PairKind::inside);
    EXPECT_EQ(kind_of(slots[1].front(), node_of), PairKind::leaders);
  }
}

INSTANTIATE_TEST_SUITE_P(Players, Tournament, testing::Range(0, 34));

TEST(LinkSlots, GrowWithTheRanksAndNotWithTheirSquare) {
  for (const int per_node : {1, 4, 8}) {
    const auto at = [&](int nodes) {
      return static_cast<double>(slots_by_worth(even_nodes(nodes * per_node, per_node), 1).size());
    };
    EXPECT_LT(at(32) / at(16), 2.2) << per_node << " ranks per node";
    EXPECT_LT(at(64) / at(32), 2.2) << per_node << " ranks per node";
  }
}

TEST(LinkSlots, TheSeedDecidesTheOrderOfTheRest) {
  const auto node_of = even_nodes(24, 3);
  EXPECT_EQ(slots_by_worth(node_of, 1), slots_by_worth(node_of, 1));
  EXPECT_NE(slots_by_worth(node_of, 1), slots_by_worth(node_of, 2));
}

TEST(LinkSlots, AnyPairsCanBePlayedAlone) {
  const std::vector<int> node_of = even_nodes(9, 3);
  const Round pairs = {{0, 3}, {0, 4}, {1, 2}, {3, 6}, {7, 8}};
  size_t held = 0;
  for (const auto& slot : slots_of(pairs, node_of)) {
    std::multiset<int> nodes;
    for (const auto& pair : slot) {
      nodes.insert(node_of[static_cast<size_t>(pair.low)]);
      if (node_of[static_cast<size_t>(pair.low)] != node_of[static_cast<size_t>(pair.high)])
        nodes.insert(node_of[static_cast<size_t>(pair.high)]);
      ++held;
    }
    for (const int node : nodes) EXPECT_EQ(nodes.count(node), 1U) << "node " << node;
  }
  EXPECT_EQ(held, pairs.size());
}

TEST(LinkSlots, LeadersAreTheFirstRanksOfNodes) {
  const std::vector<int> node_of = {0, 0, 0, 1, 1, 2};
  EXPECT_EQ(kind_of({0, 2}, node_of), PairKind::inside);
  EXPECT_EQ(kind_of({0, 3}, node_of), PairKind::leaders);
  EXPECT_EQ(kind_of({3, 5}, node_of), PairKind::leaders);
  EXPECT_EQ(kind_of({1, 3}, node_of), PairKind::rest);
  EXPECT_EQ(kind_of({4, 5}, node_of), PairKind::rest);
}

}  // namespace
}  // namespace galvatron::measure
