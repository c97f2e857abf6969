// Two passes: counting costs little, and only the lines that are wanted are parsed, so that a run of millions
// of steps is read in seconds.
#include "store/json_lines.hpp"

#include <fstream>
#include <nlohmann/json.hpp>

namespace galvatron::store {
namespace {

template <typename Use>
void each_line(const std::filesystem::path& path, std::string_view mark, Use use) {
  std::ifstream in(path, std::ios::binary);
  for (std::string line; std::getline(in, line);)
    if (line.find('{') != std::string::npos && line.find(mark) != std::string::npos) use(line);
}

/// Nothing for what is not a whole object.
bool read(std::string& line, JsonLine& out) {
  while (!line.empty() && (line.back() == ',' || line.back() == '\r')) line.pop_back();
  const auto json = nlohmann::json::parse(line, nullptr, false);
  if (!json.is_object()) return false;
  for (const auto& [key, value] : json.items()) {
    if (value.is_number()) out.numbers[key] = value.get<double>();
    if (value.is_string()) out.texts[key] = value.get<std::string>();
  }
  return true;
}

}  // namespace

double JsonLine::number(std::string_view key, double otherwise) const {
  const auto found = numbers.find(key);
  return found == numbers.end() ? otherwise : found->second;
}

std::string JsonLine::text(std::string_view key) const {
  const auto found = texts.find(key);
  return found == texts.end() ? std::string() : found->second;
}

JsonLines read_json_lines(const std::filesystem::path& path, int64_t most, std::string_view mark) {
  int64_t count = 0;
  each_line(path, mark, [&](const std::string&) { ++count; });
  JsonLines out;
  int64_t at = 0, next = 0, taken = 0;
  const auto wanted = std::min(most, count);
  each_line(path, mark, [&](std::string& line) {
    const bool take = wanted > 0 && at++ == next;
    if (!take) {
      ++out.left_out;
      return;
    }
    // Evenly spread, the last line included.
    if (++taken < wanted) next = taken * (count - 1) / (wanted - 1);
    if (JsonLine parsed; read(line, parsed)) out.lines.push_back(std::move(parsed));
  });
  return out;
}

}  // namespace galvatron::store
