#pragma once
// Runs the built program, or any shell command, and keeps what it said.

#include <sys/wait.h>

#include <cstdio>
#include <string>

namespace galvatron::test {

struct Said {
  int code = -1;     ///< exit code; 128 + signal when killed
  std::string text;  ///< stdout and stderr, as they came
};

/// `command` is for /bin/sh; "galvatron" is to be written as $G.
inline Said shell(const std::string& command) {
  Said said;
  // An installed program for example, instead of the one that was built.
  FILE* pipe =
      popen(("G=\"${GALVATRON_TEST_PROGRAM:-" GALVATRON_PROGRAM "}\"; cd '" GALVATRON_SOURCE_DIR "'; " +
             command + " 2>&1")
                .c_str(),
            "r");
  if (pipe == nullptr) return said;
  char buffer[4096];
  while (const size_t got = fread(buffer, 1, sizeof buffer, pipe)) said.text.append(buffer, got);
  const int status = pclose(pipe);
  said.code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return said;
}

}  // namespace galvatron::test
