// Both rules are asked by `check`, alone, and by the verbs on ranks, inside an agreement.

#include "app/deck_plan.hpp"

#include "core/errors.hpp"
#include "core/format.hpp"
#include "plan/by_hand.hpp"

namespace galvatron::app {

void require_legal(const plan::Plan& plan, const spec::ModelSpec& model, int64_t world,
                   const std::string& origin) {
  const auto faults = plan::faults_of(plan, model, world);
  if (!faults.empty()) throw core::UserError(core::format("{}:\n  {}", origin, core::join(faults, "\n  ")));
}

std::optional<plan::Plan> plan_by_hand(const deck::DeckValues& deck, const spec::ModelSpec& model,
                                       int64_t world) {
  if (!deck.plan.by_hand() && deck.search.enabled) return std::nullopt;
  return plan::plan_by_hand(plan::uniform_from_deck(deck.plan, world, deck.search.batch.front()), model);
}

}  // namespace galvatron::app
