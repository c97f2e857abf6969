// One thread that waits for signals with a timeout, so that it also notices its own end.

#include "app/signals.hpp"

#include <pthread.h>
#include <signal.h>

#include <chrono>

namespace galvatron::app {
namespace {

constexpr double second_term_seconds = 5.0;

sigset_t watched_signals() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGUSR1);
  sigaddset(&set, SIGTERM);
  return set;
}

[[noreturn]] void end_by(int signal) {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, signal);
  pthread_sigmask(SIG_UNBLOCK, &set, nullptr);
  ::signal(signal, SIG_DFL);
  raise(signal);
  std::abort();
}

}  // namespace

SignalWatch::SignalWatch() {
  const auto set = watched_signals();
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
  thread_ = std::jthread([this](const std::stop_token& token) { watch(token); });
}

SignalWatch::~SignalWatch() = default;

runtime::Request SignalWatch::take() {
  if (stop_.load()) return runtime::Request::stop_requeue;
  return save_.exchange(false) ? runtime::Request::save : runtime::Request::none;
}

void SignalWatch::watch(const std::stop_token& token) {
  using Clock = std::chrono::steady_clock;
  const auto set = watched_signals();
  const timespec patience{0, 100'000'000};
  Clock::time_point first_term;
  while (!token.stop_requested()) {
    const int signal = sigtimedwait(&set, nullptr, &patience);
    if (signal == SIGUSR1) save_.store(true);
    if (signal != SIGTERM) continue;
    if (!stop_.exchange(true))
      first_term = Clock::now();
    else if (std::chrono::duration<double>(Clock::now() - first_term).count() >= second_term_seconds)
      end_by(SIGTERM);
  }
}

}  // namespace galvatron::app
