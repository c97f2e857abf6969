#pragma once
// What kind of build this is, for code that does more in one than in another.

namespace galvatron::core {

/// Checks and helps that cost time are on.
inline constexpr bool debug_build = GALVATRON_HOT_CHECKS;

}  // namespace galvatron::core
