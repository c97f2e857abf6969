#pragma once
// Counts the bytes that a device holds. Atomic, because buffers are made and freed by more than one thread.

#include <atomic>
#include <cstdint>

namespace galvatron::device {

class ByteCounter {
 public:
  void add(int64_t bytes) {
    const auto now = in_use_.fetch_add(bytes) + bytes;
    auto peak = peak_.load();
    while (peak < now && !peak_.compare_exchange_weak(peak, now)) {
    }
  }
  void remove(int64_t bytes) { in_use_.fetch_sub(bytes); }
  int64_t in_use() const { return in_use_.load(); }
  int64_t peak() const { return peak_.load(); }

 private:
  std::atomic<int64_t> in_use_{0};
  std::atomic<int64_t> peak_{0};
};

}  // namespace galvatron::device
