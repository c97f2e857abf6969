// Asking often at first, because most waits of a step are short, and rarely later, because a core is worth
// something too.
#include "device/cuda/waiter.hpp"

#include <chrono>
#include <thread>

#include "device/cuda/check.hpp"

namespace galvatron::device::cuda {
namespace {

constexpr int quick_questions = 1000;
constexpr int questions_per_poll = 16;
constexpr auto nap = std::chrono::microseconds(20);

}  // namespace

void Waiter::until(const std::function<cudaError_t()>& query) const {
  for (int64_t questions = 1;; ++questions) {
    const auto code = query();
    if (code == cudaSuccess) return;
    if (code != cudaErrorNotReady) check(code, "work on the device", std::source_location::current());
    if (poll_ && questions % questions_per_poll == 0) poll_();
    if (questions < quick_questions)
      std::this_thread::yield();
    else
      std::this_thread::sleep_for(nap);
  }
}

}  // namespace galvatron::device::cuda
