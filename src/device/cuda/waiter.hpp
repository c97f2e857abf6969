#pragma once
// How the host waits for a device. It asks instead of sleeping in the driver, so that a communication which
// failed on another rank ends the wait. It never tells the watchdog of progress: a wait without end is a
// hang.

#include <cuda_runtime_api.h>

#include <functional>

namespace galvatron::device::cuda {

class Waiter {
 public:
  /// Called between two questions; may throw, which ends the wait. Empty: nothing to ask.
  void set_poll(std::function<void()> poll) { poll_ = std::move(poll); }

  /// Returns when `query` says cudaSuccess; throws for any code but cudaErrorNotReady.
  void until(const std::function<cudaError_t()>& query) const;

 private:
  std::function<void()> poll_;
};

}  // namespace galvatron::device::cuda
