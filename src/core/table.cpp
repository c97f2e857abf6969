// Columns are measured in characters, not bytes: names may hold "×" and "…".
#include "core/table.hpp"

#include <algorithm>

namespace galvatron::core {
namespace {

size_t width_of(const std::string& text) {
  return static_cast<size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xc0) != 0x80; }));
}

}  // namespace

std::string table(const std::vector<Row>& rows, const std::vector<size_t>& left) {
  std::vector<size_t> widths;
  for (const Row& row : rows)
    for (size_t i = 0; i < row.size(); ++i) {
      if (i == widths.size()) widths.push_back(0);
      widths[i] = std::max(widths[i], width_of(row[i]));
    }
  std::string out;
  for (const Row& row : rows) {
    std::string line = " ";
    for (size_t i = 0; i < row.size(); ++i) {
      const std::string space(widths[i] - width_of(row[i]), ' ');
      const bool to_left = i == 0 || std::find(left.begin(), left.end(), i) != left.end();
      line += " " + (to_left ? row[i] + space : space + row[i]) + (i + 1 < row.size() ? " " : "");
    }
    line.erase(line.find_last_not_of(' ') + 1);
    out += line + "\n";
  }
  return out;
}

}  // namespace galvatron::core
