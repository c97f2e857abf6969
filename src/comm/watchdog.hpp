#pragma once
// Notices that this rank makes no progress and says where it stands. In a hang every rank waits for some
// other one; the rank whose line differs from the rest is the culprit.

#include <array>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>

#include "comm/report_file.hpp"
#include "comm/world.hpp"

namespace galvatron::comm {

class Watchdog {
 public:
  using Print = std::function<void(const std::string&)>;

  /// `timeout` in seconds without a pat; 0 = off, no thread. On a timeout each rank adds what it does to the
  /// failure report in the run folder; the first one waits shortly for the others, calls `print` (from the
  /// watchdog's thread) with a table of all ranks and aborts the job with core::ExitCode::hang. The world
  /// outlives it.
  Watchdog(World& world, const std::filesystem::path& run_folder, double timeout, Print print);
  ~Watchdog();
  Watchdog(const Watchdog&) = delete;
  Watchdog& operator=(const Watchdog&) = delete;

  /// This rank begins `action`. Cheap enough for every step of a program (tens of nanoseconds); longer texts
  /// are cut. Any thread.
  void pat(std::string_view action);
  /// The same of what a second thread of this rank does beside the first: both must make progress. Empty: it
  /// rests, and is not waited for.
  void pat_beside(std::string_view action);

 private:
  /// What one thread does.
  struct Lane {
    std::array<char, 160> action{};
    size_t length = 0;
    int64_t pats = 0;
    // The watching thread's own:
    int64_t seen = -1;
    std::chrono::steady_clock::time_point since;

    void pat(std::string_view text);
    bool rests() const { return length == 0; }
  };

  void watch(const std::stop_token& stop);
  bool overdue();
  void report();
  std::string action();

  World& world_;
  ReportFile report_;
  double timeout_;
  Print print_;

  std::mutex mutex_;  // guards the lanes
  Lane main_, beside_;

  std::mutex sleep_mutex_;
  std::condition_variable_any wake_;
  std::jthread thread_;
};

}  // namespace galvatron::comm
