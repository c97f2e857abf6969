#pragma once
// The program from the outside.

#include <string>
#include <vector>

namespace galvatron::app {

/// Plays the command line `words` (without the program's name) and returns the exit code. The only function
/// that turns exceptions into messages; it prints each failure once.
int run(const std::vector<std::string>& words);

}  // namespace galvatron::app
