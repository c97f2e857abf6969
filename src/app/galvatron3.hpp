#pragma once
// search.rules = "galvatron-3.0": its files, its search, our plan.

#include <functional>
#include <string>

#include "deck/sections.hpp"
#include "plan/plan.hpp"
#include "search/galvatron3/request.hpp"

namespace galvatron::app {

struct Galvatron3Answer {
  plan::Plan plan;         ///< its predicted step is that of Galvatron's formula
  std::string strategies;  ///< the same as its strategy file
  std::string text;        ///< what was found, for a person
  double throughput = 0;   ///< samples per second, by the formula
};

bool asks_galvatron3(const deck::DeckValues& deck);

/// `read` gives the text of a file. Throws core::UserError when a file is wrong, nothing fits (no plan), or
/// the plan found cannot be played for the model.
Galvatron3Answer ask_galvatron3(const deck::DeckValues& deck, const spec::ModelSpec& model,
                                const spec::ClusterSpec& cluster,
                                const std::function<std::string(const std::string&)>& read);

/// Where a plan is said as JSON it is a strategy file of Galvatron 3.0, else plan.toml. `world`: the ranks of
/// a file that does not say; 0 = it must.
plan::Plan plan_from_text(const std::string& text, const std::string& file, const spec::ModelSpec& model,
                          int64_t world);

}  // namespace galvatron::app
