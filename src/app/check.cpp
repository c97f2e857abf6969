// galvatron check: says whether a deck is right, without a launcher and without touching the data.
#include "app/verbs.hpp"
#include "core/format.hpp"
#include "deck/deck.hpp"

namespace galvatron::app {

core::ExitCode check_verb(Context& context) {
  // 1. The deck has been read: a wrong one does not come here.
  context.console.info(core::format("{}: the deck is right", context.line.file));
  // 2. Show what it says once all defaults and overrides are in.
  context.console.detail("\n" + deck::to_toml(context.deck));
  return core::ExitCode::finished;
}

}  // namespace galvatron::app
