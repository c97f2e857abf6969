#pragma once
// Files of one flat JSON object a line, as metrics.jsonl and events.jsonl are: read back for reports.

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace galvatron::store {

/// The numbers and texts of one object; what is neither (null, nested ones) is left out.
struct JsonLine {
  std::map<std::string, double, std::less<>> numbers;
  std::map<std::string, std::string, std::less<>> texts;

  /// The number, or `otherwise`.
  double number(std::string_view key, double otherwise = 0) const;
  bool has(std::string_view key) const { return numbers.contains(key); }
  std::string text(std::string_view key) const;
};

struct JsonLines {
  std::vector<JsonLine> lines;
  int64_t left_out = 0;
};

/// Lines that contain `mark`, in their order: at most `most`, spread evenly, the first and the last among
/// them. Torn and unreadable lines are skipped, commas behind an object too. A file that is not there or
/// cannot be read has no lines.
JsonLines read_json_lines(const std::filesystem::path& path, int64_t most, std::string_view mark = "");

}  // namespace galvatron::store
