// Looks at the streams, and behind a launcher at the launcher's.
#include "app/terminal.hpp"

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "core/format.hpp"

namespace galvatron::app {
namespace {

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

/// Whether a stream of the process that started this one is a terminal, where that process is mpirun.
bool launcher_has_terminal(int stream) {
  const auto parent = core::format("/proc/{}", ::getppid());
  std::string name;
  std::ifstream(parent + "/comm") >> name;
  if (name != "mpirun" && name != "mpiexec" && name != "orterun" && name != "prterun") return false;
  std::error_code error;
  const auto target = std::filesystem::read_symlink(core::format("{}/fd/{}", parent, stream), error).string();
  return !error && (target.starts_with("/dev/pts/") || target.starts_with("/dev/tty"));
}

bool is_terminal(int stream) {
  const bool launched = !environment("OMPI_COMM_WORLD_SIZE").empty() || !environment("PMIX_RANK").empty();
  return launched ? launcher_has_terminal(stream) : ::isatty(stream) == 1;
}

}  // namespace

Terminal terminal_of_this_process() {
  const auto term = environment("TERM");
  if (term.empty() || term == "dumb") return {};
  return {is_terminal(STDOUT_FILENO), is_terminal(STDERR_FILENO) && environment("NO_COLOR").empty()};
}

}  // namespace galvatron::app
