#pragma once
// What stands in a deck before anybody asks what it means: plain values with their lines. The TOML library is
// known only to the file that fills these.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace galvatron::deck {

/// A value as written.
struct Raw {
  enum class Kind { boolean, integer, real, text, list, table, date };
  Kind kind = Kind::table;
  bool boolean = false;
  int64_t integer = 0;
  double real = 0.0;
  std::string text;
  std::vector<Raw> items;

  /// "the integer 7", "the string \"x\"", "a list": for messages.
  std::string describe() const;
};

/// Where something was said. Line 0 is the command line.
struct Place {
  int64_t line = 0;
  auto operator<=>(const Place&) const = default;
};

/// One key of a deck or of the command line.
struct Entry {
  std::string section;  ///< empty for a key outside any section
  std::string key;
  Raw value;
  Place place;
  std::string written;  ///< the VALUE of a command line override, as typed
};

/// One thing that is wrong: "[train] unknown key 'stepz' …" at its place.
struct Problem {
  Place place;
  std::string text;
};

/// All that was read, and all that could not be.
struct Source {
  std::vector<Entry> entries;
  std::vector<std::string> empty_sections;  ///< named in the file without a key, with `empty_places`
  std::vector<Place> empty_places;
  std::vector<Problem> problems;
};

/// Reads TOML. After a syntax error the line is left out and reading goes on, so that all of them are found.
Source read_toml(std::string_view bytes);

/// Adds "section.key=VALUE" to `source`, in place of what the file says. VALUE is TOML, else a string.
void read_override(const std::string& argument, Source& source);

/// `text` as a TOML basic string with its quotes.
std::string quoted(std::string_view text);

}  // namespace galvatron::deck
