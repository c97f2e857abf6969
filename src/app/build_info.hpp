#pragma once
// What this program was built from, with and for. The values come from the configuration of the build.

#include <string>
#include <utility>
#include <vector>

namespace galvatron::app {

/// `galvatron --version`, and with --json.
std::string version_text();
std::string version_json();

/// Name and value of what this program was built from, with and for; "off" is what was not built in.
std::vector<std::pair<std::string, std::string>> build_facts();

/// Change with everything that decides how long messages, and how long computations take here: the sources of
/// the rooms concerned, the compiler and its options, the libraries. What is measured under one mark holds
/// for every program with the same mark.
std::string talk_mark();
std::string compute_mark();

/// Instruction sets that the program was built for and this processor does not have; empty when all is well.
std::vector<std::string> missing_instruction_sets();

/// Folders in which files that come with the program may be: where it was built and where it is to be
/// installed.
std::vector<std::string> data_folders();

}  // namespace galvatron::app
