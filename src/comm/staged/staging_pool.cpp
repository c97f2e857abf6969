// Sizes are rounded up to powers of two, so that messages of similar sizes share buffers.
#include "comm/staged/staging_pool.hpp"

#include <algorithm>
#include <bit>

namespace galvatron::comm {

StagingPool::Place StagingPool::take(int64_t bytes) {
  constexpr uint64_t smallest = 4096;
  auto best = free_.end();
  for (auto at = free_.begin(); at != free_.end(); ++at)
    if (at->bytes() >= bytes && (best == free_.end() || at->bytes() < best->bytes())) best = at;
  if (best == free_.end()) {
    const auto rounded =
        static_cast<int64_t>(std::bit_ceil(std::max(smallest, static_cast<uint64_t>(bytes))));
    return {*this, device::HostBuffer(device_, rounded), bytes};
  }
  std::swap(*best, free_.back());
  Place place(*this, std::move(free_.back()), bytes);
  free_.pop_back();
  return place;
}

}  // namespace galvatron::comm
