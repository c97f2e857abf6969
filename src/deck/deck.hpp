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

/// The manual of the deck, in Markdown.
std::string manual();

}  // namespace galvatron::deck
