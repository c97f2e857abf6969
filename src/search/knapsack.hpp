#pragma once
// A multiple-choice knapsack over groups of equal layers: one item per layer, least time, Σ bytes within a
// budget.

#include <cstdint>
#include <optional>
#include <vector>

namespace galvatron::search {

struct Item {
  int64_t bytes = 0, time = 0;
  int64_t choice = 0;  ///< the caller's number for it
};

struct ItemGroup {
  int64_t count = 0;
  std::vector<Item> items;
};

/// How many layers of a group take a choice.
struct Pick {
  int64_t choice = 0, count = 0;
  bool operator==(const Pick&) const = default;
};

struct Packing {
  int64_t time = 0, bytes = 0;
  std::vector<std::vector<Pick>> picks;  ///< per group, choices ascending
  bool exact = true;
};

/// Only packings of less than `limit` nanoseconds count; nothing when there is none.
std::optional<Packing> pack(std::vector<ItemGroup> groups, int64_t budget, int64_t limit);

}  // namespace galvatron::search
