#pragma once
// metrics.jsonl: one JSON object per logged step, with numbers that compare bit for bit.

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

namespace galvatron::store {

/// The text as a JSON string, quotes included; bytes that are not UTF-8 are replaced.
std::string json_quoted(std::string_view text);

/// One line under construction; keys appear in the order of the calls.
class MetricsLine {
 public:
  explicit MetricsLine(int64_t step);

  /// %.17g; a non-finite number becomes null, which is all that JSON has.
  MetricsLine& number(std::string_view key, double value);
  /// As number(), and again under `<key>_hex` as a hexadecimal float in quotes ("nan", "inf" where it is
  /// one).
  MetricsLine& exact(std::string_view key, double value);
  MetricsLine& integer(std::string_view key, int64_t value);
  MetricsLine& text(std::string_view key, std::string_view value);

  /// Without a newline.
  std::string json() const { return text_ + "}"; }
  /// What json() has behind the step: ", "key": value, …}".
  std::string rest() const { return json().substr(step_end_); }

 private:
  void key(std::string_view name);

  std::string text_;
  size_t step_end_;
};

/// A line of events.jsonl: what happened to the run, when (seconds since 1970), at which step.
MetricsLine event_line(int64_t step, std::string_view kind, std::string_view text);

/// Appends lines, each with one write, so that a killed run leaves at most one torn line, the last.
class MetricsFile {
 public:
  /// Throws ResourceError (environment) when the file cannot be opened.
  explicit MetricsFile(std::filesystem::path path);
  MetricsFile(const MetricsFile&) = delete;
  MetricsFile& operator=(const MetricsFile&) = delete;
  ~MetricsFile();

  /// Throws DiskError on a failed write, as on a full disk; the file ends with a whole line then, and this
  /// line waits in memory for the next one.
  void append(const MetricsLine& line);

 private:
  void write_waiting();

  std::filesystem::path path_;
  int descriptor_ = -1;
  std::string waiting_;  ///< lines that are not in the file
};

/// Cuts the file behind the last line of step `step` or before, as a resume from that step needs it. The cut
/// tail, torn or unreadable lines included, is kept beside it as metrics-cut-1.jsonl, -2, …; its path is
/// returned, or an empty one when nothing was cut. An absent file is fine.
std::filesystem::path truncate_metrics(const std::filesystem::path& path, int64_t step);

/// Adds the keys of `line` to the last line of the file where that is of the same step (`step`), else appends
/// it. A run that is killed meanwhile leaves a torn last line at most.
void amend_metrics(const std::filesystem::path& path, int64_t step, const MetricsLine& line);

}  // namespace galvatron::store
