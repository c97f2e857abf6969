#pragma once
// The words of the command line, sorted: galvatron VERB DECK [section.key=VALUE …] [options].

#include <cstdint>
#include <string>
#include <vector>

namespace galvatron::app {

enum class Verbosity { quiet, normal, verbose };
enum class VersionForm { none, text, json };

struct CommandLine {
  std::string verb;                    ///< empty where none was given
  std::string file;                    ///< the deck, or the FILE of verbs that take one; empty likewise
  std::vector<std::string> inputs;     ///< further files, of verbs that take them
  std::vector<std::string> overrides;  ///< "section.key=VALUE"; --out and --resume are among them
  bool overwrite = false;
  bool log = false;               ///< a log file of every rank
  bool space = false;             ///< show the decision tree instead of the file
  std::string html;               ///< where to write the report of a run folder
  std::string out;                ///< --out as it stands
  std::string to = "tokens";      ///< format to convert to
  std::string checkpoint;         ///< empty: the newest of the run folder
  std::string prompt;             ///< text to go on with
  std::string prompt_ids;         ///< or ids, with commas between them
  int64_t tokens = 100;           ///< ids to generate
  double temperature = 1.0;       ///< 0: always the most likely id
  int64_t top_k = 0;              ///< 0: all ids
  int64_t seed = 0;               ///< of the draws
  std::vector<std::string> used;  ///< options given that only some verbs have: "--to"
  bool help = false;
  VersionForm version = VersionForm::none;
  Verbosity verbosity = Verbosity::normal;
  std::vector<std::string> problems;  ///< what could not be understood
};

/// Sorts the words. What is wrong with them is in `problems` and thrown by whoever knows which ranks there
/// are.
CommandLine parse_command_line(const std::vector<std::string>& words);

}  // namespace galvatron::app
