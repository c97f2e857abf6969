// TOML to plain values. The library stops at its first syntax error; here the offending line is blanked and
// the text parsed again, because a user wants all errors of a deck in one go.
#include "deck/raw.hpp"

#include <toml++/toml.h>

#include <algorithm>
#include <sstream>

#include "core/format.hpp"

namespace galvatron::deck {
namespace {

using core::format;

constexpr size_t largest_deck_bytes = size_t{1} << 20;
constexpr int most_syntax_errors = 20;

Raw to_raw(const toml::node& node) {
  Raw raw;
  if (const auto* b = node.as_boolean()) {
    raw.kind = Raw::Kind::boolean;
    raw.boolean = b->get();
  } else if (const auto* i = node.as_integer()) {
    raw.kind = Raw::Kind::integer;
    raw.integer = i->get();
  } else if (const auto* d = node.as_floating_point()) {
    raw.kind = Raw::Kind::real;
    raw.real = d->get();
  } else if (const auto* s = node.as_string()) {
    raw.kind = Raw::Kind::text;
    raw.text = s->get();
  } else if (const auto* list = node.as_array()) {
    raw.kind = Raw::Kind::list;
    for (const auto& item : *list) raw.items.push_back(to_raw(item));
  } else {
    raw.kind = node.is_table() ? Raw::Kind::table : Raw::Kind::date;
  }
  return raw;
}

Place place_of(const toml::source_region& region) {
  return {static_cast<int64_t>(region.begin.line)};
}

/// The lines of a text, each without its newline.
std::vector<std::string> lines_of(std::string_view bytes) {
  std::vector<std::string> lines;
  while (true) {
    const auto end = std::min(bytes.find('\n'), bytes.size());
    lines.emplace_back(bytes.substr(0, end));
    if (end == bytes.size()) return lines;
    bytes.remove_prefix(end + 1);
  }
}

std::string trimmed(std::string_view text) {
  const auto first = text.find_first_not_of(" \t\r");
  if (first == std::string_view::npos) return {};
  return std::string(text.substr(first, text.find_last_not_of(" \t\r") - first + 1));
}

/// The key that a line of the form `key = …` sets, else empty.
std::string key_on(const std::string& line) {
  const auto equals = line.find('=');
  return equals == std::string::npos ? std::string() : trimmed(std::string_view(line).substr(0, equals));
}

/// The section that line `at` (from 0) lies in, by the nearest `[section]` above it.
std::string section_at(const std::vector<std::string>& lines, size_t at, size_t& header) {
  for (size_t i = at + 1; i-- > 0;) {
    const std::string line = trimmed(lines[i]);
    const auto close = line.find(']');
    if (line.size() > 2 && line[0] == '[' && line[1] != '[' && close != std::string::npos) {
      header = i;
      return trimmed(std::string_view(line).substr(1, close - 1));
    }
  }
  header = 0;
  return {};
}

/// The library's complaint in the words of this program; `at` is the line, from 0.
std::string syntax_problem(const std::vector<std::string>& lines, size_t at, std::string_view complaint) {
  size_t header = 0;
  const std::string section = section_at(lines, at, header);
  const std::string where = section.empty() ? "" : format("[{}] ", section);
  if (complaint.find("redefine") != std::string_view::npos) {
    const std::string key = key_on(lines[at]);
    if (key.empty()) return where + "this section stands twice; put its keys under one heading";
    for (size_t i = header; i < at; ++i) {
      if (key_on(lines[i]) == key)
        return where + format("key '{}' is given twice (first in line {})", key, i + 1);
    }
    return where + format("key '{}' is given twice", key);
  }
  constexpr std::string_view opening = "Error while parsing ";
  if (complaint.substr(0, opening.size()) == opening) complaint.remove_prefix(opening.size());
  return where + format("not TOML: {}", complaint);
}

/// Leaves out line `at`; with a section's heading also its keys, which would else count to the section above.
void leave_out(std::vector<std::string>& lines, size_t at) {
  const auto is_heading = [](const std::string& line) { return trimmed(line).substr(0, 1) == "["; };
  const bool heading = is_heading(lines[at]);
  lines[at].clear();
  if (!heading) return;
  for (size_t i = at + 1; i < lines.size() && !is_heading(lines[i]); ++i) lines[i].clear();
}

/// Parses, leaving out the line of each syntax error.
toml::table parse_all(std::string_view bytes, std::vector<Problem>& problems) {
  auto lines = lines_of(bytes);
  const auto original = lines;
  for (int tries = 0; tries < most_syntax_errors; ++tries) {
    std::string text;
    for (const auto& line : lines) text += line + "\n";
    try {
      return toml::parse(text);
    } catch (const toml::parse_error& error) {
      const auto line = static_cast<size_t>(std::max<toml::source_index>(error.source().begin.line, 1));
      size_t at = std::min(line, lines.size()) - 1;
      // An error at the end of the text, or behind a line already left out, belongs to the last line with
      // text.
      while (at > 0 && trimmed(lines[at]).empty()) --at;
      if (trimmed(lines[at]).empty()) break;
      problems.push_back({{static_cast<int64_t>(at) + 1}, syntax_problem(original, at, error.description())});
      leave_out(lines, at);
    }
  }
  return {};
}

}  // namespace

std::string Raw::describe() const {
  switch (kind) {
    case Kind::boolean:
      return boolean ? "the boolean true" : "the boolean false";
    case Kind::integer:
      return format("the integer {}", integer);
    case Kind::real:
      return format("the number {}", real);
    case Kind::text:
      return "the string " + quoted(text);
    case Kind::list:
      return "a list";
    case Kind::table:
      return "a table";
    case Kind::date:
      return "a date or time";
  }
  return "a value";
}

std::string quoted(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (c == '\n') {
      out += "\\n";
    } else if (c == '\t') {
      out += "\\t";
    } else if (byte < 0x20 || byte == 0x7f) {
      out += format("\\u{:04X}", static_cast<unsigned>(byte));
    } else {
      out += c;
    }
  }
  return out + "\"";
}

Source read_toml(std::string_view bytes) {
  Source source;
  if (bytes.size() > largest_deck_bytes) {
    source.problems.push_back({{1}, format("{} bytes are too many for a deck", bytes.size())});
    return source;
  }
  const toml::table root = parse_all(bytes, source.problems);
  for (const auto& [name, node] : root) {
    const Place place = place_of(name.source());
    const auto* section = node.as_table();
    if (section == nullptr) {
      source.entries.push_back({"", std::string(name.str()), to_raw(node), place, ""});
      continue;
    }
    if (section->empty()) {
      source.empty_sections.emplace_back(name.str());
      source.empty_places.push_back(place);
    }
    for (const auto& [key, value] : *section) {
      source.entries.push_back(
          {std::string(name.str()), std::string(key.str()), to_raw(value), place_of(key.source()), ""});
    }
  }
  std::stable_sort(source.entries.begin(), source.entries.end(),
                   [](const Entry& a, const Entry& b) { return a.place < b.place; });
  return source;
}

void read_override(const std::string& argument, Source& source) {
  const auto equals = argument.find('=');
  const auto dot = argument.find('.');
  if (equals == std::string::npos || dot == std::string::npos || dot > equals) {
    source.problems.push_back({{0}, format("'{}' is not of the form section.key=VALUE", argument)});
    return;
  }
  Entry entry{trimmed(argument.substr(0, dot)),
              trimmed(argument.substr(dot + 1, equals - dot - 1)),
              {},
              {0},
              trimmed(argument.substr(equals + 1))};
  const auto parsed_alone = [](const std::string& text, Raw& out) {
    try {
      const toml::table table = toml::parse("v = " + text);
      if (table.size() != 1 || table.get("v") == nullptr) return false;
      out = to_raw(*table.get("v"));
      return true;
    } catch (const toml::parse_error&) {
      return false;
    }
  };
  if (!parsed_alone(entry.written, entry.value) && !parsed_alone(quoted(entry.written), entry.value)) {
    source.problems.push_back(
        {{0}, format("[{}] {}: the value is not UTF-8 text", entry.section, entry.key)});
    return;
  }
  std::erase_if(source.entries,
                [&](const Entry& e) { return e.section == entry.section && e.key == entry.key; });
  source.entries.push_back(std::move(entry));
}

}  // namespace galvatron::deck
