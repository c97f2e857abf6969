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

TEST_P(Tournament, SlotsShareNoNode) {
  const int n = GetParam();
  for (const int per_node : {1, 2, 3, 8}) {
    std::vector<int> node_of;
    for (int r = 0; r < n; ++r) node_of.push_back(r / per_node);
    for (const auto& round : tournament(n)) {
      std::multiset<Pair> left(round.begin(), round.end());
      for (const auto& slot : slots_of(round, node_of)) {
        std::set<int> nodes;
        for (const auto& pair : slot) {
          const auto found = left.find(pair);
          ASSERT_NE(found, left.end()) << "pair " << pair.low << "," << pair.high << " twice or invented";
          left.erase(found);
          const auto low = static_cast<size_t>(pair.low);
          const auto high = static_cast<size_t>(pair.high);
          std::set<int> own = {node_of[low], node_of[high]};
          for (const int node : own)
            EXPECT_TRUE(nodes.insert(node).second)
                << "node " << node << " twice in a slot, " << per_node << " ranks per node";
        }
      }
      EXPECT_TRUE(left.empty()) << left.size() << " pairs lost of " << n << " players";
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Players, Tournament, testing::Range(0, 34));

}  // namespace
}  // namespace galvatron::measure
