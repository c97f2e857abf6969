#pragma once
// What a deck's values must be to each other.

#include "deck/reader.hpp"
#include "deck/sections.hpp"

namespace galvatron::deck {

/// Sets the values that follow from others where the deck is silent: model.kv_heads, model.ffn,
/// train.min_lr and train.warmup.
void fill_in(const Reader& reader, DeckValues& values);

/// Records every contradiction between keys.
void check_contradictions(Reader& reader, const DeckValues& values);

}  // namespace galvatron::deck
