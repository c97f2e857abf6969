#pragma once
// Names of enum values as people write them.

#include <string>
#include <string_view>

namespace galvatron::core {

/// "all_reduce" → "all-reduce".
std::string hyphenated(std::string_view name);

}  // namespace galvatron::core
