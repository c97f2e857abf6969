#pragma once
// Workers of a queue that are threads of one process: what several ranks would do, where there is no
// launcher. Workers meet at a barrier before they read what the others wrote and before they write again; one
// that throws leaves the barrier, so that the others are not kept waiting.

#include <algorithm>
#include <barrier>
#include <cstdint>
#include <exception>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "core/work_queue.hpp"

namespace galvatron::comm {

/// What the workers write for each other.
struct WorkerBoard {
  explicit WorkerBoard(int workers)
      : texts(static_cast<size_t>(workers)), numbers(texts.size()), meet(workers) {}
  std::vector<std::string> texts;
  std::vector<int64_t> numbers;
  std::barrier<> meet;
  std::mutex guard;
  std::exception_ptr first;
};

class ThreadQueue final : public core::WorkQueue {
 public:
  ThreadQueue(WorkerBoard& board, int worker) : board_(board), worker_(worker) {}
  int workers() const override { return static_cast<int>(board_.texts.size()); }
  int worker() const override { return worker_; }

  int64_t minimum(int64_t value) override {
    board_.numbers[static_cast<size_t>(worker_)] = value;
    board_.meet.arrive_and_wait();
    const int64_t least = *std::min_element(board_.numbers.begin(), board_.numbers.end());
    board_.meet.arrive_and_wait();
    return least;
  }

  std::vector<std::string> all_gather(const std::string& text) override {
    board_.texts[static_cast<size_t>(worker_)] = text;
    board_.meet.arrive_and_wait();
    auto all = board_.texts;
    board_.meet.arrive_and_wait();
    return all;
  }

 private:
  WorkerBoard& board_;
  int worker_;
};

/// Runs `body` on every worker of a queue of so many, at the same time. Rethrows what the first worker to
/// throw has thrown, when all have ended.
inline void on_workers(int workers, const std::function<void(core::WorkQueue&)>& body) {
  WorkerBoard board(workers);
  const auto work = [&](int worker) {
    try {
      ThreadQueue queue(board, worker);
      body(queue);
    } catch (...) {
      const std::lock_guard lock(board.guard);
      if (!board.first) board.first = std::current_exception();
    }
    board.meet.arrive_and_drop();
  };
  std::vector<std::thread> threads;
  for (int worker = 1; worker < workers; ++worker) threads.emplace_back(work, worker);
  work(0);
  for (auto& thread : threads) thread.join();
  if (board.first) std::rethrow_exception(board.first);
}

}  // namespace galvatron::comm
