// What reaches the screen, and where.
#include "app/console.hpp"

#include <algorithm>
#include <chrono>
#include <ostream>

#include "core/errors.hpp"
#include "core/format.hpp"

namespace galvatron::app {
namespace {

constexpr int64_t bar_width = 40;
constexpr double bar_every = 0.1;  // seconds
const char* const clear_line = "\r\x1b[K";

double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

std::string_view kind_of(core::LogLevel level) {
  switch (level) {
    case core::LogLevel::warning:
      return "warning: ";
    case core::LogLevel::detail:
      return "detail: ";
    case core::LogLevel::info:
      return "";
  }
  return "";
}

}  // namespace

Console::Console(std::ostream& out, std::ostream& err, Verbosity verbosity, Speaker speaker,
                 Terminal terminal)
    : out_(out), err_(err), verbosity_(verbosity), speaker_(speaker), terminal_(terminal) {}

Console::~Console() {
  end_bar();
}

void Console::write(core::LogLevel level, std::string_view line) {
  const std::lock_guard lock(mutex_);
  to_log(kind_of(level), line);
  if (speaker_ == Speaker::no) return;
  if (level == core::LogLevel::info && verbosity_ == Verbosity::quiet) return;
  if (level == core::LogLevel::detail && verbosity_ != Verbosity::verbose) return;
  clear_bar();
  if (level != core::LogLevel::warning) {
    out_ << line << std::endl;
  } else if (warned_.insert(std::string(line)).second) {
    err_ << marked("warning: ") << line << std::endl;
  }
}

void Console::print(std::string_view text) {
  const std::lock_guard lock(mutex_);
  if (speaker_ == Speaker::no) return;
  to_log("", text);
  clear_bar();
  out_ << text << std::flush;
}

void Console::error(std::string_view text) {
  const std::lock_guard lock(mutex_);
  to_log("error: ", text);
  if (speaker_ == Speaker::no) return;
  clear_bar();
  err_ << text << std::endl;
}

void Console::bar(int64_t done, int64_t total, std::string_view what) {
  if (!terminal_.bar || speaker_ == Speaker::no || verbosity_ == Verbosity::quiet || total <= 0) return;
  const std::lock_guard lock(mutex_);
  const double time = now();
  if (bar_shown_ && time - bar_time_ < bar_every) return;
  bar_time_ = time;
  const auto full = std::clamp<int64_t>(bar_width * done / total, 0, bar_width);
  out_ << clear_line << '[' << std::string(static_cast<size_t>(full), '#')
       << std::string(static_cast<size_t>(bar_width - full), '.') << "] " << what << ' ' << done << '/'
       << total << std::flush;
  bar_shown_ = true;
}

void Console::end_bar() {
  const std::lock_guard lock(mutex_);
  clear_bar();
}

void Console::clear_bar() {
  if (bar_shown_) out_ << clear_line << std::flush;
  bar_shown_ = false;
}

std::string Console::marked(std::string_view mark) const {
  return terminal_.colour ? core::format("\x1b[33m{}\x1b[0m", mark) : std::string(mark);
}

void Console::keep_log(const std::filesystem::path& file) {
  const std::lock_guard lock(mutex_);
  std::error_code ignored;
  std::filesystem::create_directories(file.parent_path(), ignored);
  log_.open(file, std::ios::app);
  log_begin_ = now();
  if (!log_)
    throw core::UserError(core::ExitCode::environment, file.string() + ": the log file cannot be written");
}

void Console::to_log(std::string_view kind, std::string_view text) {
  if (!log_.is_open()) return;
  while (text.ends_with('\n')) text.remove_suffix(1);
  log_ << core::format("{:10.3f}  {}{}", now() - log_begin_, kind, text) << std::endl;
}

}  // namespace galvatron::app
