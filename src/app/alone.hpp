#pragma once
// Playing a verb in this process alone, without MPI.

#include <string>

#include "app/verbs.hpp"

namespace galvatron::app {

/// The bytes of a deck or another small text file. Throws core::UserError (exit code 2) naming the file.
std::string read_text(const std::string& file);

/// Replaces a small text file. Throws core::UserError (environment) naming it when the disk fails.
void write_text(const std::string& file, const std::string& text);

/// The deck of the command line from its bytes, or every problem of the command line and the deck in one
/// core::UserError.
deck::DeckValues deck_of(const Verb& verb, const CommandLine& line, const std::string& bytes);

/// Plays a verb that needs no ranks.
core::ExitCode play_alone(const Verb& verb, const CommandLine& line, Console& console, Result& result);

}  // namespace galvatron::app
