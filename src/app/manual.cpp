// galvatron manual: the deck's manual, which is also docs/deck.md.
#include "app/verbs.hpp"
#include "deck/deck.hpp"

namespace galvatron::app {

core::ExitCode manual_verb(Context& context) {
  context.console.print(deck::manual());
  return core::ExitCode::finished;
}

}  // namespace galvatron::app
