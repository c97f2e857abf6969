// Lines are put together by hand, because the exact digits are the point of them; only strings and the
// reading back go through the JSON library.
#include "store/metrics.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>
#include <sstream>
#include <system_error>

#include "core/format.hpp"
#include "store/file.hpp"

namespace galvatron::store {
namespace {

/// Bytes of lines kept for a disk that takes none: the older ones are given up beyond.
constexpr size_t most_waiting = size_t{16} << 20;

std::string printed(const char* pattern, double value) {
  char text[64];
  std::snprintf(text, sizeof text, pattern, value);
  return text;
}

/// The step of a whole line; nothing for anything else.
std::optional<int64_t> step_of(const std::string& line) {
  const auto json = nlohmann::json::parse(line, nullptr, false);
  if (!json.is_object()) return {};
  const auto step = json.find("step");
  if (step == json.end() || !step->is_number_integer()) return {};
  return step->get<int64_t>();
}

std::string read_all(const std::filesystem::path& path) {
  const File file(path, File::Mode::read);
  std::string text(static_cast<size_t>(file.size()), '\0');
  file.read(0, std::as_writable_bytes(std::span(text)));
  return text;
}

std::filesystem::path free_name(const std::filesystem::path& path) {
  for (int64_t i = 1;; ++i) {
    auto name =
        path.parent_path() / core::format("{}-cut-{}{}", path.stem().string(), i, path.extension().string());
    if (!std::filesystem::exists(name)) return name;
  }
}

}  // namespace

std::string json_quoted(std::string_view text) {
  return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

MetricsLine::MetricsLine(int64_t step)
    : text_(core::format("{{\"step\": {}", step)), step_end_(text_.size()) {}

void MetricsLine::key(std::string_view name) {
  text_ += ", " + json_quoted(name) + ": ";
}

MetricsLine& MetricsLine::number(std::string_view name, double value) {
  key(name);
  text_ += std::isfinite(value) ? printed("%.17g", value) : "null";
  return *this;
}

MetricsLine& MetricsLine::exact(std::string_view name, double value) {
  number(name, value);
  return text(std::string(name) + "_hex", printed("%a", value));
}

MetricsLine& MetricsLine::integer(std::string_view name, int64_t value) {
  key(name);
  text_ += std::to_string(value);
  return *this;
}

MetricsLine& MetricsLine::text(std::string_view name, std::string_view value) {
  key(name);
  text_ += json_quoted(value);
  return *this;
}

MetricsLine event_line(int64_t step, std::string_view kind, std::string_view text) {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  MetricsLine line(step);
  line.number("time", std::chrono::duration<double>(now).count());
  return std::move(line.text("event", kind).text("text", text));
}

MetricsFile::MetricsFile(std::filesystem::path path) : path_(std::move(path)) {
  descriptor_ = ::open(path_.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  if (descriptor_ < 0)
    throw DiskError(
        core::format("cannot open {}: {}", path_.string(), std::generic_category().message(errno)));
}

MetricsFile::~MetricsFile() {
  try {
    write_waiting();
  } catch (const DiskError&) {
    // Said when the lines came.
  }
  ::close(descriptor_);
}

void MetricsFile::append(const MetricsLine& line) {
  if (waiting_.size() > most_waiting) waiting_.clear();
  waiting_ += line.json() + "\n";
  write_waiting();
}

void MetricsFile::write_waiting() {
  if (waiting_.empty()) return;
  const auto end = ::lseek(descriptor_, 0, SEEK_END);
  ssize_t put = 0;
  do {
    put = ::write(descriptor_, waiting_.data(), waiting_.size());
  } while (put < 0 && errno == EINTR);
  if (put == static_cast<ssize_t>(waiting_.size())) return waiting_.clear();
  auto problem = put < 0 ? std::generic_category().message(errno) : "no space for a whole line";
  if (put > 0 && ::ftruncate(descriptor_, end) != 0) problem += ", and its part cannot be cut off";
  throw DiskError(core::format("cannot append to {}: {}", path_.string(), problem));
}

std::filesystem::path truncate_metrics(const std::filesystem::path& path, int64_t step) {
  if (!std::filesystem::exists(path)) return {};
  const auto text = read_all(path);
  size_t kept = 0;
  for (size_t end = 0; (end = text.find('\n', kept)) != std::string::npos; kept = end + 1) {
    const auto line_step = step_of(text.substr(kept, end - kept));
    if (!line_step || *line_step > step) break;
  }
  if (kept == text.size()) return {};
  const auto tail_path = free_name(path);
  {
    const File tail(tail_path, File::Mode::create);
    tail.write(0, std::as_bytes(std::span(text).subspan(kept)));
    tail.sync();
  }
  const File file(path, File::Mode::update);
  file.resize(static_cast<int64_t>(kept));
  file.sync();
  return tail_path;
}

void amend_metrics(const std::filesystem::path& path, int64_t step, const MetricsLine& line) {
  const auto text = std::filesystem::exists(path) ? read_all(path) : std::string();
  const auto last = text.size() < 2 ? 0 : text.rfind('\n', text.size() - 2) + 1;
  if (!text.ends_with("}\n") || step_of(text.substr(last, text.size() - 1 - last)) != step)
    return MetricsFile(path).append(line);
  const auto rest = line.rest() + "\n";
  const File file(path, File::Mode::update);
  file.write(static_cast<int64_t>(text.size()) - 2, std::as_bytes(std::span(rest)));
}

}  // namespace galvatron::store
