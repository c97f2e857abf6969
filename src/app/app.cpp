// From the command line to a verb, and from any exception to one message and one exit code. Everything that
// ends the process goes through here.
#include "app/app.hpp"

#include <algorithm>
#include <cstdlib>
#include <iostream>
#include <optional>

#include "app/alone.hpp"
#include "app/build_info.hpp"
#include "app/failure.hpp"
#include "app/ranks.hpp"
#include "app/terminal.hpp"
#include "app/verbs.hpp"
#include "comm/guard.hpp"
#include "core/format.hpp"
#include "deck/suggest.hpp"

namespace galvatron::app {
namespace {

using core::ExitCode;

/// The rank that the launcher gave this process, before MPI is started and for what never starts it; 0 alone.
int launcher_rank() {
  for (const char* name : {"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "SLURM_PROCID"}) {
    if (const char* text = std::getenv(name)) return std::atoi(text);
  }
  return 0;
}

const Verb* find_verb(const std::string& name, const std::vector<Verb>& table) {
  for (const Verb& verb : table) {
    if (verb.name == name) return &verb;
  }
  return nullptr;
}

std::string unknown_verb(const std::string& name, const std::vector<Verb>& table) {
  std::vector<std::string> names;
  for (const Verb& verb : table) names.push_back(verb.name);
  const std::string near = deck::nearest(name, names);
  return core::format("command line: unknown verb '{}'{}; the verbs are {}", name,
                      near.empty() ? "" : " (did you mean '" + near + "'?)", core::join(names, ", "));
}

/// What is asked for without a verb: --version and --help.
std::optional<std::string> document(const CommandLine& line, const Verb* verb,
                                    const std::vector<Verb>& table) {
  if (line.version == VersionForm::text) return version_text();
  if (line.version == VersionForm::json) return version_json();
  if (line.help) return verb ? help_text(*verb) : help_text(table);
  return std::nullopt;
}

std::string wanted(Argument argument) {
  switch (argument) {
    case Argument::none:
      return "nothing";
    case Argument::deck:
      return "a deck";
    case Argument::file:
      return "a file";
    case Argument::inputs:
      return "the word tokens and files";
    case Argument::test:
      return "the name of a test";
  }
  return "";
}

/// Options that only other verbs have.
void add_foreign_options(const Verb& verb, const std::vector<Verb>& table, CommandLine& line) {
  const auto has = [](const Verb& v, const std::string& option) {
    return std::find(v.options.begin(), v.options.end(), option) != v.options.end();
  };
  for (const auto& option : line.used) {
    if (has(verb, option)) continue;
    std::vector<std::string> owners;
    for (const Verb& other : table)
      if (has(other, option)) owners.push_back(other.name);
    line.problems.push_back(core::format("command line: {} is for {}, not for {}", option,
                                         core::join(owners, " and "), verb.name));
  }
}

/// Everything about the words that can be said before the verb plays.
void add_problems(const Verb* verb, const std::vector<Verb>& table, CommandLine& line) {
  if (line.verb.empty()) {
    line.problems.emplace_back("command line: a verb is missing; see galvatron --help");
    return;
  }
  if (verb == nullptr) {
    line.problems.push_back(unknown_verb(line.verb, table));
    return;
  }
  if (verb->argument != Argument::none && line.file.empty()) {
    line.problems.push_back(core::format("command line: {} needs {}; see galvatron {} --help", verb->name,
                                         wanted(verb->argument), verb->name));
  }
  if (verb->argument == Argument::none && !line.file.empty()) {
    line.problems.push_back(core::format("command line: {} takes no file", verb->name));
  }
  add_foreign_options(*verb, table, line);
}

/// Every process may be on another kind of node, so each one that cannot go on says so itself.
void check_processor(Console& console) {
  const auto missing = missing_instruction_sets();
  if (missing.empty()) return;
  console.set_speaker(Speaker::yes);
  throw core::UserError(ExitCode::environment,
                        "this processor lacks " + core::join(missing, ", ") +
                            ", which this build uses; build again with another GALVATRON_MARCH");
}

}  // namespace

int run(const std::vector<std::string>& words, const std::vector<Verb>& table) {
  CommandLine line = parse_command_line(words);
  const Verb* verb = find_verb(line.verb, table);
  Console console(std::cout, std::cerr, line.verbosity, launcher_rank() == 0 ? Speaker::yes : Speaker::no,
                  terminal_of_this_process());
  if (const auto text = document(line, verb, table)) {
    console.print(*text);
    return static_cast<int>(ExitCode::finished);
  }

  add_problems(verb, table, line);
  const bool on_ranks = verb != nullptr && verb->launch == Launch::ranks;
  bool ranks_begun = false;
  Result result;
  ExitCode code = ExitCode::finished;
  try {
    check_processor(console);
    if (verb == nullptr) throw core::UserError(core::join(line.problems, "\n"));
    if (on_ranks) comm::check_start();
    ranks_begun = on_ranks;
    if (on_ranks) return static_cast<int>(play_on_ranks(*verb, line, console, result));
    code = play_alone(*verb, line, console, result);
  } catch (...) {
    const Failure failure = describe(std::current_exception(), 1);
    console.error(failure.text);
    code = failure.code;
  }
  // Processes that never became ranks all fail alike. Only the one that speaks returns the code: a launcher
  // would kill it before it has spoken when another one fails first.
  if (!ranks_begun && console.speaker() == Speaker::no) return static_cast<int>(ExitCode::finished);
  if (verb == nullptr || verb->ending == Ending::result) {
    console.print(result.line(line.verb, static_cast<int>(code)));
  }
  return static_cast<int>(code);
}

}  // namespace galvatron::app
