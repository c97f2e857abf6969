#pragma once
// What every verb is given.

#include <filesystem>

#include "app/cli.hpp"
#include "app/console.hpp"
#include "app/result.hpp"
#include "deck/sections.hpp"

namespace galvatron::comm {
class Watchdog;
}

namespace galvatron::app {

class Ranks;

struct Context {
  const CommandLine& line;
  deck::DeckValues deck;   ///< the defaults for verbs that read no deck
  Console& console;        ///< also the core::Log that rooms take
  Result& result;          ///< what the RESULT line shall say
  Ranks* ranks = nullptr;  ///< MPI, this rank's device, the world; null for verbs that need no ranks
  std::filesystem::path* own_folder = nullptr;  ///< where a verb leaves its run folder once it is its own
  comm::Watchdog* watchdog = nullptr;           ///< to be patted with what is done; null likewise
};

}  // namespace galvatron::app
