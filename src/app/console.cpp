// What reaches the screen, and where.
#include "app/console.hpp"

#include <ostream>

namespace galvatron::app {

Console::Console(std::ostream& out, std::ostream& err, Verbosity verbosity, Speaker speaker)
    : out_(out), err_(err), verbosity_(verbosity), speaker_(speaker) {}

void Console::write(core::LogLevel level, std::string_view line) {
  if (speaker_ == Speaker::no) return;
  if (level == core::LogLevel::info && verbosity_ == Verbosity::quiet) return;
  if (level == core::LogLevel::detail && verbosity_ != Verbosity::verbose) return;
  const std::lock_guard lock(mutex_);
  if (level != core::LogLevel::warning) {
    out_ << line << std::endl;
  } else if (warned_.insert(std::string(line)).second) {
    err_ << "warning: " << line << std::endl;
  }
}

void Console::print(std::string_view text) {
  if (speaker_ == Speaker::no) return;
  const std::lock_guard lock(mutex_);
  out_ << text << std::flush;
}

void Console::error(std::string_view text) {
  if (speaker_ == Speaker::no) return;
  const std::lock_guard lock(mutex_);
  err_ << text << std::endl;
}

}  // namespace galvatron::app
