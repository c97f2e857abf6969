#pragma once
// How long training data take to come: what a rank's loader does for each token, with all ranks reading.

#include <cstdint>
#include <functional>

#include "comm/world.hpp"
#include "cost/profile.hpp"
#include "measure/budget.hpp"
#include "store/profile_file.hpp"

namespace galvatron::measure {

/// Reads sample number n as training would; returns how many tokens that are.
using ReadSample = std::function<int64_t(int64_t sample)>;

/// Sets `profile.loader_seconds_per_token` to the largest of the ranks' medians, with samples from all over
/// the data. An empty `read` leaves 0. Throws core::AgreedError when a sample cannot be read. Collective.
void measure_loader(comm::World& world, const ReadSample& read, Budget& budget, cost::ModelProfile& profile,
                    store::RawTable& raw);

}  // namespace galvatron::measure
