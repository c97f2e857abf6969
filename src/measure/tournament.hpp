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

/// The ranks of each node, both ascending.
std::vector<std::vector<int>> members_of(const std::vector<int>& node_of);

enum class PairKind { inside, leaders, rest };

/// inside: both on one node. leaders: the first ranks of two nodes. `node_of[rank]`.
PairKind kind_of(const Pair& pair, const std::vector<int>& node_of);

/// All pairs, in the order in which they are worth measuring alone: a slot of each tier, then those inside a
/// node, those of leaders, and the rest in an order that depends on the seed alone, so that whatever part of
/// it is played is a fair sample. Pairs of a slot share no node: each has its nodes' network interface, and
/// inside a node the node's memory, to itself. There are about ranks · (ranks per node) slots, whatever the
/// number of nodes.
std::vector<Round> slots_by_worth(const std::vector<int>& node_of, uint64_t seed);

/// The pairs in as many slots as it takes, in their order; pairs of a slot share no node.
std::vector<Round> slots_of(const Round& pairs, const std::vector<int>& node_of);

/// Puts items into an order that depends on the seed alone.
void shuffle(std::vector<Round>& rounds, uint64_t seed);

}  // namespace galvatron::measure
