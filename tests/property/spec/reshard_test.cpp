// Laws of moving activations between layouts, for every pair of layouts of a stage: each row arrives where
// it belongs, exactly once, and the way back is the transpose. The payload is the token's own index.
#include "spec/reshard.hpp"
#include "support/layouts.hpp"

#include <gtest/gtest.h>

#include <map>
#include <string>

namespace galvatron::spec {
namespace {

/// Divides by every sp · tp · 2cp of up to eight ranks.
constexpr int64_t positions = 48;

using testing::splits_of;
using testing::tokens_of;

/// Every rank's rows after the move: what it kept and what its peers sent, −1 where nothing arrived.
std::vector<std::vector<int64_t>> moved(const std::vector<Move>& moves, const TokenLayout& from,
                                        const TokenLayout& to, const std::string& what) {
  std::map<std::pair<int64_t, int64_t>, std::vector<int64_t>> messages;
  const auto ranks = static_cast<int64_t>(moves.size());
  std::vector<std::vector<int64_t>> result;
  for (int64_t rank = 0; rank < ranks; ++rank) {
    const auto mine = tokens_of(from, rank);
    const auto& move = moves[static_cast<size_t>(rank)];
    auto& got = result.emplace_back(tokens_of(to, rank).size(), -1);
    for (const auto& kept : move.kept)
      for (int64_t i = 0; i < kept.count; ++i)
        got[static_cast<size_t>(kept.to + i)] = mine[static_cast<size_t>(kept.from + i)];
    for (const auto& send : move.sends)
      for (const auto& run : send.runs)
        for (int64_t i = 0; i < run.count; ++i)
          messages[{rank, send.peer}].push_back(mine[static_cast<size_t>(run.row + i)]);
  }
  for (int64_t rank = 0; rank < ranks; ++rank)
    for (const auto& receive : moves[static_cast<size_t>(rank)].receives) {
      const auto& message = messages[{receive.peer, rank}];
      EXPECT_EQ(static_cast<int64_t>(message.size()), receive.rows())
          << what << ": rank " << receive.peer << " to " << rank;
      size_t next = 0;
      for (const auto& run : receive.runs)
        for (int64_t i = 0; i < run.count && next < message.size(); ++i) {
          auto& place = result[static_cast<size_t>(rank)][static_cast<size_t>(run.row + i)];
          EXPECT_EQ(place, -1) << what << ": row " << run.row + i << " of rank " << rank << " arrives twice";
          place = message[next++];
        }
      messages.erase({receive.peer, rank});
    }
  for (const auto& [ends, message] : messages)
    ADD_FAILURE() << what << ": rank " << ends.first << " sends " << message.size() << " rows to "
                  << ends.second << ", which expects none";
  return result;
}

std::vector<Move> moves_of(const TokenLayout& from, const TokenLayout& to) {
  std::vector<Move> moves;
  for (int64_t rank = 0; rank < from.strategy.ranks(); ++rank) moves.push_back(move_of(from, to, rank));
  return moves;
}

class Reshard : public ::testing::TestWithParam<int32_t> {};
INSTANTIATE_TEST_SUITE_P(Ranks, Reshard, ::testing::Values(1, 2, 3, 4, 6, 8));

TEST_P(Reshard, EveryRowArrivesOnceThereAndBack) {
  const auto strategies = splits_of(GetParam());
  for (const int64_t samples : {int64_t{GetParam()}, int64_t{GetParam()} + 3})  // 3 more: uneven shares
    for (const auto& a : strategies)
      for (const auto& b : strategies) {
        const TokenLayout from{samples, positions, a}, to{samples, positions, b};
        const auto what = to_string(a) + " → " + to_string(b) + ", " + std::to_string(samples) + " samples";
        const auto there = moves_of(from, to), back = moves_of(to, from);
        const auto arrived = moved(there, from, to, what), returned = moved(back, to, from, what + ", back");
        for (int64_t rank = 0; rank < GetParam(); ++rank) {
          const auto i = static_cast<size_t>(rank);
          ASSERT_EQ(arrived[i], tokens_of(to, rank)) << what << ", rank " << rank;
          ASSERT_EQ(returned[i], tokens_of(from, rank)) << what << ", back, rank " << rank;
          ASSERT_EQ(back[i].sends, there[i].receives) << what << ": the way back is not the transpose";
          ASSERT_EQ(back[i].receives, there[i].sends) << what << ": the way back is not the transpose";
        }
      }
}

TEST_P(Reshard, EqualLayoutsMoveNothing) {
  const int64_t samples = GetParam() + 1;
  for (const auto& a : splits_of(GetParam()))
    for (const auto& b : splits_of(GetParam())) {
      const TokenLayout from{samples, positions, a}, to{samples, positions, b};
      bool silent = true;
      for (const auto& move : moves_of(from, to)) silent &= move.sends.empty() && move.receives.empty();
      EXPECT_EQ(silent, same_layout(a, b)) << to_string(a) << " → " << to_string(b);
      if (!same_layout(a, b)) continue;
      for (int64_t rank = 0; rank < GetParam(); ++rank)
        EXPECT_EQ(move_of(from, to, rank).kept,
                  (std::vector<KeptRows>{{0, 0, static_cast<int64_t>(tokens_of(from, rank).size())}}));
    }
}

TEST(ReshardByHand, HalfTheSamplesForHalfThePositions) {
  // Two samples of eight positions on two ranks: from one sample each to half of both samples each.
  const TokenLayout from{2, 8, {.dp = 2}}, to{2, 8, {.tp = 2}};
  const auto move = move_of(from, to, 0);
  EXPECT_EQ(move.kept, (std::vector<KeptRows>{{0, 0, 4}}));
  EXPECT_EQ(move.sends, (std::vector<PeerRows>{{1, {{4, 4}}}}));
  EXPECT_EQ(move.receives, (std::vector<PeerRows>{{1, {{4, 4}}}}));
}

TEST(ReshardByHand, ZigzagHalvesAreTwoRuns) {
  // One sample of eight positions: rank 0 of cp 2 owns 0 1 and 6 7, rank 1 owns 2 3 4 5.
  const auto move = move_of({1, 8, {.tp = 2}}, {1, 8, {.cp = 2}}, 0);
  EXPECT_EQ(move.kept, (std::vector<KeptRows>{{0, 0, 2}}));
  EXPECT_EQ(move.sends, (std::vector<PeerRows>{{1, {{2, 2}}}}));
  EXPECT_EQ(move.receives, (std::vector<PeerRows>{{1, {{2, 2}}}}));
}

}  // namespace
}  // namespace galvatron::spec
