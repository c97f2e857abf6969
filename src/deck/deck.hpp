#pragma once
// From the bytes of a deck to values, and back. This is the header that other rooms use.

#include <string>
#include <string_view>
#include <vector>

#include "deck/sections.hpp"

namespace galvatron::deck {

/// Reads a deck with `overrides` ("section.key=VALUE", later ones win) on top. `filename` is only for
/// messages. Throws core::UserError (exit code 2) with one line per problem: "file:line: [section] key …".
DeckValues parse_deck(std::string_view bytes, const std::string& filename,
                      const std::vector<std::string>& overrides = {});

/// The effective deck: every key with its value. Parses back to equal values.
std::string to_toml(const DeckValues& values);

/// Who decided a value: the default, a line of the file, the command line, or other keys that it follows.
enum class Origin { standard, file, command_line, other_keys };

/// One key of the effective deck, for people.
struct KeyRow {
  std::string section, key;
  std::string value;  ///< as TOML
  std::string unit, meaning;
  Origin origin = Origin::standard;
};

/// All keys in the order of the manual. Takes and throws what parse_deck does.
std::vector<KeyRow> key_rows(std::string_view bytes, const std::string& filename,
                             const std::vector<std::string>& overrides = {});

/// The manual of the deck, in Markdown.
std::string manual();

}  // namespace galvatron::deck
