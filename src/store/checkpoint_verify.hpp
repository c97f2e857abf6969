#pragma once
// Verification cut into shares, so that ranks can do it together.

#include <cstdint>
#include <filesystem>

namespace galvatron::store {

/// As verify_checkpoint(), for every `shares`-th block from block `share` on. Local.
void verify_share(const std::filesystem::path& path, int64_t share, int64_t shares);

}  // namespace galvatron::store
