// The queue is a ring of fixed size under one lock. Both sides sleep on condition variables: a rank has as
// many threads as cores, and a worker that spins would take a core from the computation.
#include "comm/background.hpp"

#include <chrono>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "core/errors.hpp"

namespace galvatron::comm {

/// Everything but the constants and the thread is read and written under the lock.
struct Background::Queue {
  Queue(int64_t capacity, double patience_seconds)
      : patience(patience_seconds), ring(static_cast<size_t>(capacity)) {}

  const std::chrono::duration<double> patience;  // while unwinding
  std::mutex lock;
  std::condition_variable work, progress;
  std::vector<std::function<void()>> ring;
  int64_t submitted = 0;      // tickets given
  int64_t begun = 0;          // tasks taken out of the ring
  int64_t ended = 0;          // tasks that have run or were dropped
  int64_t dropped_until = 0;  // tickets below this do not begin any more
  bool closing = false;
  std::exception_ptr failure;
  std::thread thread;

  std::function<void()>& place(int64_t ticket) { return ring[static_cast<size_t>(ticket) % ring.size()]; }
  bool full() const { return submitted - begun == static_cast<int64_t>(ring.size()); }

  void run() {
    std::unique_lock guard(lock);
    for (;;) {
      work.wait(guard, [this] { return begun < submitted || closing; });
      if (begun == submitted) return;
      auto task = std::exchange(place(begun), nullptr);
      const bool drop = failure != nullptr || begun < dropped_until;
      ++begun;
      guard.unlock();
      auto caught = drop ? nullptr : outcome_of(task);
      task = nullptr;  // what it holds ends before the ticket does
      guard.lock();
      if (caught) failure = std::move(caught);
      ++ended;
      progress.notify_all();
    }
  }

  static std::exception_ptr outcome_of(const std::function<void()>& task) {
    try {
      task();
    } catch (...) {
      return std::current_exception();
    }
    return nullptr;
  }

  /// Waits for tickets below `end`; throws what a task threw.
  void wait_until(int64_t end) {
    std::unique_lock guard(lock);
    progress.wait(guard, [&] { return ended >= end || failure; });
    if (!failure) return;
    dropped_until = submitted;
    std::rethrow_exception(std::exchange(failure, nullptr));
  }
};

Background::Background(int64_t capacity, double patience_seconds) {
  GALV_ASSERT(capacity > 0, capacity);
  queue_ = std::make_shared<Queue>(capacity, patience_seconds);
}

Background::~Background() {
  auto& queue = *queue_;
  if (!queue.thread.joinable()) return;
  std::unique_lock guard(queue.lock);
  queue.closing = true;
  queue.work.notify_one();
  const auto done = [&queue] { return queue.ended == queue.submitted; };
  if (std::uncaught_exceptions() == 0) {
    queue.progress.wait(guard, done);
  } else {
    queue.dropped_until = queue.submitted;
    if (!queue.progress.wait_for(guard, queue.patience, done)) {
      guard.unlock();
      queue.thread.detach();
      return;
    }
  }
  guard.unlock();
  queue.thread.join();
}

Background::Ticket Background::submit(std::function<void()> task) {
  auto& queue = *queue_;
  std::unique_lock guard(queue.lock);
  if (!queue.thread.joinable()) queue.thread = std::thread([queue = queue_] { queue->run(); });
  queue.progress.wait(guard, [&queue] { return !queue.full(); });
  queue.place(queue.submitted) = std::move(task);
  queue.work.notify_one();
  return queue.submitted++;
}

void Background::wait(Ticket ticket) {
  queue_->wait_until(ticket + 1);
}

void Background::drain() {
  int64_t end = 0;
  {
    const std::lock_guard guard(queue_->lock);
    end = queue_->submitted;
  }
  queue_->wait_until(end);
}

bool Background::finished(Ticket ticket) const {
  const std::lock_guard guard(queue_->lock);
  return queue_->ended > ticket;
}

}  // namespace galvatron::comm
