#pragma once
// What a path really takes, and how one that leaves some of its budget is improved: one or two layers at a
// time take other options, or as many as can be looked at together.

#include <optional>

#include "search/path.hpp"

namespace galvatron::search {

struct Measured {
  int64_t time = 0, bytes = 0;  ///< without scratch
  ScratchBytes scratch{};

  int64_t total() const {
    int64_t sum = bytes;
    for (const int64_t part : scratch) sum += part;
    return sum;
  }
};

/// Ways at their exact prices.
Measured measure(const PathProblem& problem, Ways& ways, const std::vector<int32_t>& picks);

/// As long as that saves time, stays within the budget and no scratch grows, one or two layers take another
/// option of their layout.
void exchange(const PathProblem& problem, Ways& ways, std::vector<int32_t>& picks, Measured& taken);

/// Likewise, some layers together: as many as have few enough combinations of options.
void exchange_many(const PathProblem& problem, Ways& ways, std::vector<int32_t>& picks, Measured& taken);

}  // namespace galvatron::search
