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

void Watchdog::Lane::pat(std::string_view text) {
  length = std::min(text.size(), action.size());
  std::memcpy(action.data(), text.data(), length);
  ++pats;
}

void Watchdog::pat(std::string_view action) {
  const std::lock_guard lock(mutex_);
  main_.pat(action);
}

void Watchdog::pat_beside(std::string_view action) {
  const std::lock_guard lock(mutex_);
  beside_.pat(action);
}

std::string Watchdog::action() {
  const std::lock_guard lock(mutex_);
  std::string text(main_.action.data(), main_.length);
  if (!beside_.rests()) text += "; beside it: " + std::string(beside_.action.data(), beside_.length);
  return text;
}

bool Watchdog::overdue() {
  const auto now = std::chrono::steady_clock::now();
  const std::lock_guard lock(mutex_);
  bool late = false;
  for (auto* lane : {&main_, &beside_}) {
    if (lane->pats != lane->seen) {
      lane->seen = lane->pats;
      lane->since = now;
    }
    late = late || (!lane->rests() && std::chrono::duration<double>(now - lane->since).count() >= timeout_);
  }
  return late;
}

void Watchdog::watch(const std::stop_token& stop) {
  std::unique_lock sleep(sleep_mutex_);
  while (!stop.stop_requested()) {
    wake_.wait_for(sleep, stop, std::chrono::duration<double>(timeout_ / looks), [] { return false; });
    if (!stop.stop_requested() && overdue()) report();
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
