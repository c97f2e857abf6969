#pragma once
// Communication that goes on while this rank computes. Nothing moves a message between two calls into the
// message library, so someone has to be in it: one thread that makes the calls of its queue in order and
// sleeps when there are none.

#include <cstdint>
#include <functional>
#include <memory>

namespace galvatron::comm {

/// One worker thread, started by the first task, and a queue of tasks that it runs in the order of their
/// submission. Communicators that tasks use are used by nobody else meanwhile. One thread submits and waits.
///
/// What a task throws is thrown again by the next wait or drain, whatever that waits for. Tasks behind the
/// one that threw, also those submitted before the exception was thrown again, do not run.
class Background {
 public:
  /// A task's place in the queue.
  using Ticket = int64_t;

  /// At most `capacity` tasks wait; `submit` waits for a place beyond that. The queue asks for no memory
  /// after its first task, and std::function keeps a task of two pointers in itself.
  explicit Background(int64_t capacity = 256, double patience_seconds = 2.0);
  Background(const Background&) = delete;
  Background& operator=(const Background&) = delete;
  /// Waits for all tasks; an exception that no wait or drain has thrown again is lost. While unwinding it
  /// drops the tasks that have not begun and gives the one that has `patience_seconds` to end: its peers may
  /// never come, and the process is about to end.
  ~Background();

  Ticket submit(std::function<void()> task);
  /// Returns when the task of `ticket` and all before it have run.
  void wait(Ticket ticket);
  /// Returns when all tasks have run.
  void drain();
  /// True when the task of `ticket` has run or will not run.
  bool finished(Ticket ticket) const;

 private:
  struct Queue;

  // Shared with the thread: one that is stuck in the message library at the end outlives this object.
  std::shared_ptr<Queue> queue_;
};

}  // namespace galvatron::comm
