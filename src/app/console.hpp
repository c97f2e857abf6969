#pragma once
// The only voice of the program: stdout and stderr of rank 0.

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iosfwd>
#include <mutex>
#include <set>
#include <string>
#include <string_view>

#include "app/cli.hpp"
#include "core/log.hpp"

namespace galvatron::app {

enum class Speaker { yes, no };

/// What a terminal behind the streams can do; nothing where they go to a file or another program.
struct Terminal {
  bool bar = false;     ///< a line may be written again and again
  bool colour = false;  ///< warnings and errors stand out
};

/// Rank 0 speaks, all others are silent. Safe from any thread.
class Console final : public core::Log {
 public:
  Console(std::ostream& out, std::ostream& err, Verbosity verbosity, Speaker speaker, Terminal terminal = {});
  ~Console() override;

  Speaker speaker() const { return speaker_; }
  void set_speaker(Speaker speaker) { speaker_ = speaker; }

  /// A line of the log: warnings (each text once) to stderr, the rest to stdout as far as the verbosity goes.
  void write(core::LogLevel level, std::string_view line) override;

  /// A result that was asked for: tables, RESULT lines, documents. Never suppressed by --quiet.
  void print(std::string_view text);

  /// What went wrong, to stderr.
  void error(std::string_view text);

  /// On a terminal only: "step 12/200" behind a bar, in a line that the next output takes away. Shown a few
  /// times a second at most.
  void bar(int64_t done, int64_t total, std::string_view what);
  /// Takes the bar away.
  void end_bar();

  /// From now on everything that this rank has to say goes to `file` too, with the seconds since this call,
  /// whoever speaks and whatever the verbosity. Throws core::UserError (environment).
  void keep_log(const std::filesystem::path& file);

 private:
  void to_log(std::string_view kind, std::string_view text);
  void clear_bar();
  std::string marked(std::string_view mark) const;

  std::ostream& out_;
  std::ostream& err_;
  Verbosity verbosity_;
  Speaker speaker_;
  Terminal terminal_;
  bool bar_shown_ = false;
  double bar_time_ = 0, log_begin_ = 0;
  std::ofstream log_;
  std::mutex mutex_;
  std::set<std::string, std::less<>> warned_;
};

}  // namespace galvatron::app
