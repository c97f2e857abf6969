// Creating with O_EXCL decides who was first, also on shared file systems; appending in one write keeps lines
// whole.
#include "comm/report_file.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <thread>

#include "core/format.hpp"

namespace galvatron::comm {
namespace {

constexpr int file_mode = 0644;

std::string entry_text(int rank, const std::string& host, const std::string& text) {
  std::string entry = core::format("rank {} on {}: ", rank, host);
  for (const char c : text) {
    entry += c;
    if (c == '\n') entry += "  ";
  }
  return entry + "\n";
}

/// The number after "rank ".
int rank_of(const std::string& entry) {
  return std::atoi(entry.c_str() + 5);
}

}  // namespace

Claim ReportFile::add(int rank, const std::string& host, const std::string& text) const {
  auto claim = Claim::first;
  int file = ::open(path_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, file_mode);
  if (file < 0 && errno == EEXIST) {
    claim = Claim::later;
    file = ::open(path_.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC);
  }
  if (file < 0) return Claim::first;
  const auto entry = entry_text(rank, host, text);
  const auto written = ::write(file, entry.data(), entry.size());
  ::close(file);
  return written == static_cast<ssize_t>(entry.size()) ? claim : Claim::first;
}

std::vector<std::string> ReportFile::entries() const {
  std::ifstream file(path_);
  std::vector<std::string> entries;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("rank ")) {
      entries.push_back(line);
    } else if (!entries.empty()) {
      entries.back() += "\n" + line;
    }
  }
  std::stable_sort(entries.begin(), entries.end(),
                   [](const auto& a, const auto& b) { return rank_of(a) < rank_of(b); });
  return entries;
}

void ReportFile::wait_for(int count, double seconds) const {
  using Clock = std::chrono::steady_clock;
  const auto end = Clock::now() + std::chrono::duration<double>(seconds);
  while (Clock::now() < end && static_cast<int>(entries().size()) < count)
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
}

}  // namespace galvatron::comm
