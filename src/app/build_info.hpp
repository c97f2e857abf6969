#pragma once
// What this program was built from, with and for. The values come from the configuration of the build.

#include <string>
#include <vector>

namespace galvatron::app {

/// `galvatron --version`, and with --json.
std::string version_text();
std::string version_json();

/// Instruction sets that the program was built for and this processor does not have; empty when all is well.
std::vector<std::string> missing_instruction_sets();

/// Folders in which files that come with the program may be: where it was built and where it is to be
/// installed.
std::vector<std::string> data_folders();

}  // namespace galvatron::app
