// A thread that looks at a counter. It never talks to other ranks: they hang.
#include "comm/watchdog.hpp"

#include <algorithm>
#include <cstring>
#include <set>
#include <utility>
#include <vector>

#include "comm/failure.hpp"
#include "comm/group.hpp"
#include "core/errors.hpp"
#include "core/units.hpp"

namespace galvatron::comm {
namespace {

/// Looks per timeout: the report comes at most this part of the timeout late.
constexpr double looks = 10.0;
/// How long the first rank waits for the others' lines: they began to wait within about one action of each
/// other.
constexpr double shortest_wait = 2.0;
constexpr double longest_wait = 30.0;

}  // namespace

Watchdog::Watchdog(World& world, const std::filesystem::path& run_folder, double timeout, Print print)
    : world_(world), report_(run_folder / failure_file), timeout_(timeout), print_(std::move(print)) {
  pat("start");
  if (timeout_ > 0) thread_ = std::jthread([this](const std::stop_token& stop) { watch(stop); });
}

Watchdog::~Watchdog() = default;

void Watchdog::pat(std::string_view action) {
  const std::lock_guard lock(mutex_);
  length_ = std::min(action.size(), action_.size());
  std::memcpy(action_.data(), action.data(), length_);
  ++pats_;
}

std::string Watchdog::action() {
  const std::lock_guard lock(mutex_);
  return std::string(action_.data(), length_);
}

void Watchdog::watch(const std::stop_token& stop) {
  using Clock = std::chrono::steady_clock;
  using Seconds = std::chrono::duration<double>;
  int64_t seen = -1;
  auto since = Clock::now();
  std::unique_lock sleep(sleep_mutex_);
  while (!stop.stop_requested()) {
    wake_.wait_for(sleep, stop, Seconds(timeout_ / looks), [] { return false; });
    if (stop.stop_requested()) return;
    const auto now = Clock::now();
    {
      const std::lock_guard lock(mutex_);
      if (pats_ != seen) {
        seen = pats_;
        since = now;
        continue;
      }
    }
    if (Seconds(now - since).count() >= timeout_) report();
  }
}

void Watchdog::report() {
  const auto wait = std::clamp(timeout_ / looks, shortest_wait, longest_wait);
  if (report_.add(world_.rank(), world_.host_of(world_.node()), action()) == Claim::first) {
    report_.wait_for(world_.size(), wait);
    const auto entries = report_.entries();
    std::string table =
        "no progress for " + core::format_seconds(timeout_) + "; every rank's current action:";
    std::set<int> silent;
    for (int r = 0; r < world_.size(); ++r) silent.insert(r);
    for (const auto& entry : entries) {
      table += "\n  " + entry;
      silent.erase(std::atoi(entry.c_str() + 5));
    }
    if (!silent.empty())
      table += "\n  no line from rank " + rank_text({silent.begin(), silent.end()}) +
               " (stopped, lost, or not waiting)";
    print_(table);
  } else {
    std::this_thread::sleep_for(std::chrono::duration<double>(2 * wait));  // the first one aborts before
  }
  world_.abort(static_cast<int>(core::ExitCode::hang));
}

}  // namespace galvatron::comm
