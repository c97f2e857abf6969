#pragma once
// From an exception to what the user reads and the process returns.

#include <exception>
#include <string>

#include "core/errors.hpp"

namespace galvatron::app {

/// Who else knows of a failure.
enum class Reach {
  local,  ///< thrown on this rank; others may not know
  agreed  ///< thrown on every rank alike
};

struct Failure {
  core::ExitCode code;
  std::string text;  ///< may have several lines
  Reach reach;
};

/// `world_size`: how many ranks there are; on one rank every failure is agreed.
Failure describe(const std::exception_ptr& error, int world_size);

}  // namespace galvatron::app
