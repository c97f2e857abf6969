#pragma once
// How far into each region of the arena anything ever reached: the proof that what was planned is what is
// used.

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace galvatron::runtime {

class HighWater {
 public:
  /// Appends a region of `bytes` at the end; returns its offset in the arena.
  int64_t add_region(int64_t bytes) {
    const auto begin = regions_.empty() ? 0 : regions_.back().end;
    regions_.push_back({begin, begin + bytes, begin});
    return begin;
  }

  /// Something in [begin, end) of the arena is read or written. Any thread may say so.
  void touch(int64_t begin, int64_t end) {
    for (auto& region : regions_) {
      if (begin < region.begin || begin >= region.end) continue;
      const std::atomic_ref touched(region.touched);
      auto before = touched.load(std::memory_order_relaxed);
      while (before < end && !touched.compare_exchange_weak(before, end, std::memory_order_relaxed)) {
      }
      return;
    }
  }

  /// Σ over regions of the bytes up to the last one touched, rounded up to the planner's alignment.
  int64_t bytes(int64_t alignment) const {
    int64_t sum = 0;
    for (const auto& region : regions_)
      sum += (region.touched - region.begin + alignment - 1) / alignment * alignment;
    return sum;
  }

 private:
  struct Region {
    int64_t begin = 0, end = 0, touched = 0;
  };
  std::vector<Region> regions_;
};

}  // namespace galvatron::runtime
