#pragma once
// search.batch = "max": which batches are worth a search.

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

namespace galvatron::search {

/// Samples per second of the best plan of a batch; nothing when none fits.
using RateOfBatch = std::function<std::optional<double>(int64_t)>;

/// The batches that fit, ascending, of those that were asked: one sample per rank, or half of that until
/// something fits, then 3/2, 2, 3, 4, 6, 8 … times as many until none fits, or until a doubling brings less
/// than 1 %: micro-batches make room for any number of samples, so growth must end somewhere. When nothing
/// fits at all, a batch of one sample.
std::vector<int64_t> growing_batches(int64_t ranks, const RateOfBatch& rate);

/// The batches whose layers a profile should know before anybody knows what fits.
std::vector<int64_t> batches_to_measure(int64_t ranks);

}  // namespace galvatron::search
