#pragma once
// Short names for long texts: plans, profiles and checkpoints say with them what they were made for. They
// guard against accidents, not against intent.

#include <cstdint>
#include <string>
#include <string_view>

namespace galvatron::core {

/// FNV-1a, 64 bits (Fowler, Noll, Vo). The same on every machine.
uint64_t fnv1a(std::string_view text);

/// 16 hex digits of the text. The same on every machine and in every version of the program.
std::string fingerprint(std::string_view text);

}  // namespace galvatron::core
