// The circle method and its cut into slots: pure arithmetic, proved by tests for many sizes.
#include "measure/tournament.hpp"

#include <algorithm>
#include <set>

#include "core/errors.hpp"

namespace galvatron::measure {

std::vector<Round> tournament(int players) {
  GALV_ASSERT(players >= 0, players);
  if (players < 2) return {};
  const int seats = players + players % 2;  // the odd one out plays against an empty seat
  const int turning = seats - 1;
  std::vector<Round> rounds;
  for (int turn = 0; turn < turning; ++turn) {
    Round round;
    const auto meet = [&](int a, int b) {
      if (a < players && b < players) round.push_back({std::min(a, b), std::max(a, b)});
    };
    meet(turn, turning);  // the last seat never moves
    for (int i = 1; i < seats / 2; ++i) meet((turn + i) % turning, (turn - i + turning) % turning);
    std::sort(round.begin(), round.end());
    rounds.push_back(std::move(round));
  }
  return rounds;
}

std::vector<Round> slots_of(const Round& round, const std::vector<int>& node_of) {
  std::vector<Round> slots;
  std::vector<std::set<int>> busy;
  for (const auto& pair : round) {
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

}  // namespace galvatron::measure
