// galvatron selftest NAME: what the program promises, proven on the user's own ranks, disks and libraries.

#include "app/selftest.hpp"

#include <utility>
#include <vector>

#include "app/verbs.hpp"
#include "core/errors.hpp"
#include "core/format.hpp"

namespace galvatron::app {

core::ExitCode selftest_verb(Context& context) {
  const std::vector<std::pair<std::string, core::ExitCode (*)(Context&)>> tests = {
      {"parallel", selftest_parallel}, {"restart", selftest_restart}};
  std::vector<std::string> names;
  for (const auto& [name, play] : tests) {
    if (context.line.file == name) return play(context);
    names.push_back(name);
  }
  throw core::UserError(core::format("command line: selftest {}: there is {}",
                                     context.line.file.empty() ? "NAME" : "'" + context.line.file + "'",
                                     core::join(names, ", ")));
}

}  // namespace galvatron::app
