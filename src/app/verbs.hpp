#pragma once
// The verbs of the program. To add one: a file app/<verb>.cpp with `core::ExitCode <verb>_verb(Context&)`,
// its declaration here, and one row in verbs.cpp.

#include <string>
#include <string_view>
#include <vector>

#include "app/context.hpp"
#include "core/errors.hpp"

namespace galvatron::app {

/// Whether MPI is started. Verbs without ranks never touch it: on login nodes that can abort or hang.
enum class Launch { alone, ranks };
/// What follows the verb on the command line.
enum class Argument { none, deck, file, inputs, test };
/// Whether a RESULT line ends the output, or the output is a document of its own.
enum class Ending { result, document };

struct Verb {
  std::string name;
  Launch launch;
  Argument argument;
  Ending ending;
  core::ExitCode (*play)(Context&);
  std::string summary;               ///< one line for --help
  std::vector<std::string> options;  ///< beyond those that all verbs have
};

/// All verbs, in the order of --help.
std::vector<Verb> verbs();

/// `galvatron --help`, and `galvatron VERB --help`.
std::string help_text(const std::vector<Verb>& table);
std::string help_text(const Verb& verb);

core::ExitCode run_verb(Context& context);
core::ExitCode profile_verb(Context& context);
core::ExitCode search_verb(Context& context);
core::ExitCode train_verb(Context& context);
core::ExitCode check_verb(Context& context);
core::ExitCode show_verb(Context& context);
core::ExitCode convert_verb(Context& context);
/// `convert plan`, a part of it.
core::ExitCode convert_plan(Context& context);
core::ExitCode eval_verb(Context& context);
core::ExitCode generate_verb(Context& context);
core::ExitCode doctor_verb(Context& context);
core::ExitCode selftest_verb(Context& context);
core::ExitCode manual_verb(Context& context);

}  // namespace galvatron::app
