#pragma once
// The front through which rooms say things. Whoever has something to say takes a Log& as a parameter; the app
// room decides what reaches the screen and which rank speaks.

#include <string_view>

namespace galvatron::core {

enum class LogLevel { warning, info, detail };

class Log {
 public:
  virtual ~Log() = default;
  /// One line without its newline. Must be callable from any thread of the rank.
  virtual void write(LogLevel level, std::string_view line) = 0;

  void warning(std::string_view line) { write(LogLevel::warning, line); }
  void info(std::string_view line) { write(LogLevel::info, line); }
  void detail(std::string_view line) { write(LogLevel::detail, line); }
};

/// Says nothing; for tests and for callers that do not listen.
class SilentLog final : public Log {
 public:
  void write(LogLevel, std::string_view) override {}
};

}  // namespace galvatron::core
