#pragma once
// The program from the outside.

#include <string>
#include <vector>

#include "app/verbs.hpp"

namespace galvatron::app {

/// Plays the command line `words` (without the program's name) with the verbs of `table` and returns the exit
/// code. The only function that turns exceptions into messages; it prints each failure once.
int run(const std::vector<std::string>& words, const std::vector<Verb>& table);

}  // namespace galvatron::app
