#pragma once
// A work queue whose workers are threads of the test: what several ranks would do, in one process.

#include <algorithm>
#include <barrier>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "core/work_queue.hpp"

namespace galvatron::test {

class SharedBoard {
 public:
  explicit SharedBoard(int workers)
      : texts(static_cast<size_t>(workers)), numbers(texts.size()), meet(workers) {}
  std::vector<std::string> texts;
  std::vector<int64_t> numbers;
  std::barrier<> meet;
};

class ThreadQueue final : public core::WorkQueue {
 public:
  ThreadQueue(SharedBoard& board, int worker) : board_(board), worker_(worker) {}
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
  SharedBoard& board_;
  int worker_;
};

/// Runs `body` on every worker of a queue of `workers` at the same time. `body` must not throw.
inline void on_workers(int workers, const std::function<void(core::WorkQueue&)>& body) {
  SharedBoard board(workers);
  std::vector<std::thread> threads;
  for (int worker = 0; worker < workers; ++worker)
    threads.emplace_back([&board, &body, worker] {
      ThreadQueue queue(board, worker);
      body(queue);
    });
  for (auto& thread : threads) thread.join();
}

}  // namespace galvatron::test
