#pragma once
// Signals as something to ask about. They are blocked in every thread and taken by one that waits for them,
// so no handler ever interrupts a computation and nothing global is needed.

#include <atomic>
#include <thread>

#include "runtime/session.hpp"

namespace galvatron::app {

/// SIGUSR1: save and go on. SIGTERM: save and stop with exit code 75; another one at least 5 s later ends the
/// process at once (batch systems send pairs within milliseconds). Make it before MPI starts its threads:
/// they inherit the mask.
class SignalWatch {
 public:
  SignalWatch();
  ~SignalWatch();
  SignalWatch(const SignalWatch&) = delete;
  SignalWatch& operator=(const SignalWatch&) = delete;

  /// What was asked of this rank since the last call; a stop stays asked.
  runtime::Request take();
  bool stop_requested() const { return stop_.load(); }

 private:
  void watch(const std::stop_token& token);

  std::atomic<bool> save_ = false, stop_ = false;
  std::jthread thread_;  // last: stops before what it uses goes
};

}  // namespace galvatron::app
