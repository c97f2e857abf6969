#pragma once
// The plan that a deck states itself, for verbs with ranks and without.

#include <optional>
#include <string>

#include "deck/sections.hpp"
#include "plan/plan.hpp"
#include "spec/model.hpp"

namespace galvatron::app {

/// Throws core::UserError with every fault of the plan, under the name of where it came from.
void require_legal(const plan::Plan& plan, const spec::ModelSpec& model, int64_t world,
                   const std::string& origin);

/// The plan of [plan]'s degrees; nothing when the deck leaves the choice to the search. Throws
/// core::UserError with every fault.
std::optional<plan::Plan> plan_by_hand(const deck::DeckValues& deck, const spec::ModelSpec& model,
                                       int64_t world);

}  // namespace galvatron::app
