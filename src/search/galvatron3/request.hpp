#pragma once
// What a deck asks of the rules of Galvatron 3.0, and what came of it as text and as a strategy file.

#include <string>

#include "plan/galvatron3/strategy_file.hpp"
#include "search/galvatron3/search.hpp"
#include "spec/cluster.hpp"

namespace galvatron::deck {
struct DeckValues;
}

namespace galvatron::search::galvatron3 {

struct Request {
  cost::galvatron3::Settings settings;
  cost::galvatron3::ModelQuestion model;
  SearchOptions search;
};

Request request_from_deck(const deck::DeckValues& deck, const spec::ClusterSpec& cluster);

plan::galvatron3::StrategyFile strategy_file_of(const Found& found, const Request& request);

/// Throughput, where it comes from, layers and memory per stage.
std::string report(const Outcome& outcome, const Request& request);

}  // namespace galvatron::search::galvatron3
