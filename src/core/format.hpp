#pragma once
// The one door to the formatting library: the compiler has no <format> yet, and the day it has one only this
// file changes.

#include <fmt/core.h>

#include <string>
#include <string_view>
#include <vector>

namespace galvatron::core {

/// Text from a format checked at compile time: format("{} of {}", 3, 7).
template <typename... Args>
std::string format(fmt::format_string<Args...> pattern, Args&&... args) {
  return fmt::vformat(pattern, fmt::make_format_args(args...));
}

/// The parts with a separator between them.
inline std::string join(const std::vector<std::string>& parts, std::string_view separator) {
  std::string out;
  for (size_t i = 0; i < parts.size(); ++i) {
    if (i > 0) out += separator;
    out += parts[i];
  }
  return out;
}

}  // namespace galvatron::core
