#pragma once
// Which pairs of ranks talk in which round, so that every pair meets once and nobody is in two pairs of a
// round.

#include <cstdint>
#include <vector>

namespace galvatron::measure {

/// Two ranks, `low` < `high`.
struct Pair {
  int low = 0, high = 0;
  auto operator<=>(const Pair&) const = default;
};

using Round = std::vector<Pair>;

/// The circle method: one player stays, the others turn. Even `players`: players − 1 rounds of players / 2
/// pairs; odd: players rounds, one player sits out in each. Pairs of a round are sorted. No rounds below two
/// players.
std::vector<Round> tournament(int players);

/// Cuts a round into slots of pairs that do not share a node, so that each pair has its nodes' network
/// interface, and on a single node the node's memory, to itself. `node_of[rank]`.
std::vector<Round> slots_of(const Round& round, const std::vector<int>& node_of);

}  // namespace galvatron::measure
