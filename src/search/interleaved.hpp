#pragma once
// Plans with several stages on each pipeline rank. The stages are as even as they can be; activations cross
// between ranks in one layout, which is tried in turn; each rank is then one path over its stages' layers.

#include "search/task_prices.hpp"

namespace galvatron::search {

/// The plan of the least Σ u / v + (m − 1 / v) · max u over the ranks; nothing when none fits.
std::optional<plan::Plan> best_interleaved(TaskPrices& prices, int64_t memory_bytes, PathCounts& counts);

}  // namespace galvatron::search
