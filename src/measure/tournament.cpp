// The circle method, played by ranks and by nodes: pure arithmetic, proved by tests for many sizes.
#include "measure/tournament.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "core/errors.hpp"
#include "core/random.hpp"

namespace galvatron::measure {
namespace {

using Members = std::vector<std::vector<int>>;  // ranks of each node, ascending

Pair pair_of(int a, int b) {
  return {std::min(a, b), std::max(a, b)};
}

/// Slot i holds the i-th pair of every node that has so many.
std::vector<Round> slots_inside(const Members& members) {
  std::vector<Round> slots;
  for (const auto& ranks : members) {
    size_t at = 0;
    for (const auto& round : tournament(static_cast<int>(ranks.size()))) {
      for (const auto& pair : round) {
        if (at == slots.size()) slots.emplace_back();
        slots[at++].push_back(
            pair_of(ranks[static_cast<size_t>(pair.low)], ranks[static_cast<size_t>(pair.high)]));
      }
    }
  }
  return slots;
}

/// Rounds of nodes, in which member `low` of one node meets member `high` of the other.
void add_slots_across(const Members& members, size_t low, size_t high, std::vector<Round>& slots) {
  for (const auto& round : tournament(static_cast<int>(members.size()))) {
    Round slot;
    for (const auto& pair : round) {
      const auto& a = members[static_cast<size_t>(pair.low)];
      const auto& b = members[static_cast<size_t>(pair.high)];
      if (low < a.size() && high < b.size()) slot.push_back(pair_of(a[low], b[high]));
    }
    if (!slot.empty()) slots.push_back(std::move(slot));
  }
}

}  // namespace

std::vector<std::vector<int>> members_of(const std::vector<int>& node_of) {
  std::map<int, std::vector<int>> by_node;
  for (size_t rank = 0; rank < node_of.size(); ++rank)
    by_node[node_of[rank]].push_back(static_cast<int>(rank));
  Members members;
  for (auto& [node, ranks] : by_node) members.push_back(std::move(ranks));
  return members;
}

std::vector<Round> tournament(int players) {
  GALV_ASSERT(players >= 0, players);
  if (players < 2) return {};
  const int seats = players + players % 2;  // the odd one out plays against an empty seat
  const int turning = seats - 1;
  std::vector<Round> rounds;
  for (int turn = 0; turn < turning; ++turn) {
    Round round;
    const auto meet = [&](int a, int b) {
      if (a < players && b < players) round.push_back(pair_of(a, b));
    };
    meet(turn, turning);  // the last seat never moves
    for (int i = 1; i < seats / 2; ++i) meet((turn + i) % turning, (turn - i + turning) % turning);
    std::sort(round.begin(), round.end());
    rounds.push_back(std::move(round));
  }
  return rounds;
}

PairKind kind_of(const Pair& pair, const std::vector<int>& node_of) {
  const auto node = [&](int rank) { return node_of.at(static_cast<size_t>(rank)); };
  const auto leads = [&](int rank) {
    return std::find(node_of.begin(), node_of.end(), node(rank)) - node_of.begin() == rank;
  };
  if (node(pair.low) == node(pair.high)) return PairKind::inside;
  return leads(pair.low) && leads(pair.high) ? PairKind::leaders : PairKind::rest;
}

void shuffle(std::vector<Round>& rounds, uint64_t seed) {
  const auto key = core::key_of(seed, "order of link slots");
  for (size_t i = rounds.size(); i > 1; --i)
    std::swap(rounds[i - 1],
              rounds[static_cast<size_t>(core::uniform_below(key, i, static_cast<int64_t>(i)))]);
}

std::vector<Round> slots_of(const Round& pairs, const std::vector<int>& node_of) {
  std::vector<Round> slots;
  std::vector<std::set<int>> busy;
  for (const auto& pair : pairs) {
    const int low = node_of.at(static_cast<size_t>(pair.low));
    const int high = node_of.at(static_cast<size_t>(pair.high));
    size_t slot = 0;
    while (slot < slots.size() && (busy[slot].contains(low) || busy[slot].contains(high))) ++slot;
    if (slot == slots.size()) {
      slots.emplace_back();
      busy.emplace_back();
    }
    slots[slot].push_back(pair);
    busy[slot].insert({low, high});
  }
  return slots;
}

std::vector<Round> slots_by_worth(const std::vector<int>& node_of, uint64_t seed) {
  const auto members = members_of(node_of);
  auto slots = slots_inside(members);
  std::vector<Round> leaders;
  add_slots_across(members, 0, 0, leaders);
  if (!slots.empty() && !leaders.empty()) {
    slots.insert(slots.begin() + 1, leaders.front());
    leaders.erase(leaders.begin());
  }
  slots.insert(slots.end(), leaders.begin(), leaders.end());
  size_t most = 0;
  for (const auto& ranks : members) most = std::max(most, ranks.size());
  std::vector<Round> rest;
  for (size_t low = 0; low < most; ++low)
    for (size_t high = 0; high < most; ++high)
      if (low + high > 0) add_slots_across(members, low, high, rest);
  shuffle(rest, seed);
  slots.insert(slots.end(), rest.begin(), rest.end());
  return slots;
}

}  // namespace galvatron::measure
