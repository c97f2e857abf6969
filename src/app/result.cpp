// The text of RESULT lines.
#include "app/result.hpp"

#include <algorithm>
#include <cctype>

#include "core/format.hpp"

namespace galvatron::app {

void Result::set(const std::string& key, std::string_view value) {
  std::string text(value);
  std::replace_if(
      text.begin(), text.end(), [](unsigned char c) { return std::isspace(c) != 0; }, '_');
  const auto at =
      std::find_if(pairs_.begin(), pairs_.end(), [&](const auto& pair) { return pair.first == key; });
  if (at != pairs_.end()) {
    at->second = text;
  } else {
    pairs_.emplace_back(key, text);
  }
}

void Result::set(const std::string& key, int64_t value) {
  set(key, std::to_string(value));
}

void Result::set(const std::string& key, double value) {
  set(key, core::format("{:.17g}", value));
}

std::string Result::line(std::string_view verb, int exit_code) const {
  std::string out = core::format("RESULT verb={}", verb);
  for (const auto& [key, value] : pairs_) out += core::format(" {}={}", key, value);
  return out + core::format(" exit={}\n", exit_code);
}

}  // namespace galvatron::app
