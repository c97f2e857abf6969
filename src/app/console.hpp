#pragma once
// The only voice of the program: stdout and stderr of rank 0.

#include <iosfwd>
#include <mutex>
#include <set>
#include <string>
#include <string_view>

#include "app/cli.hpp"
#include "core/log.hpp"

namespace galvatron::app {

enum class Speaker { yes, no };

/// Rank 0 speaks, all others are silent. Safe from any thread.
class Console final : public core::Log {
 public:
  Console(std::ostream& out, std::ostream& err, Verbosity verbosity, Speaker speaker);

  Speaker speaker() const { return speaker_; }
  void set_speaker(Speaker speaker) { speaker_ = speaker; }

  /// A line of the log: warnings (each text once) to stderr, the rest to stdout as far as the verbosity goes.
  void write(core::LogLevel level, std::string_view line) override;

  /// A result that was asked for: tables, RESULT lines, documents. Never suppressed by --quiet.
  void print(std::string_view text);

  /// What went wrong, to stderr.
  void error(std::string_view text);

 private:
  std::ostream& out_;
  std::ostream& err_;
  Verbosity verbosity_;
  Speaker speaker_;
  std::mutex mutex_;
  std::set<std::string, std::less<>> warned_;
};

}  // namespace galvatron::app
