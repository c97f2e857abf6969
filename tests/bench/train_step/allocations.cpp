// The replaced operator new. The linker says where this executable's code begins and ends.

#include "allocations.hpp"

#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <new>

// Given by the linker: the first byte of the executable's image, and the first after its code.
extern "C" const char __executable_start;
extern "C" const char etext;

namespace galvatron::bench {
namespace {

std::atomic<bool> counting{false};
std::atomic<int64_t> ours{0}, others{0};

}  // namespace

void start_counting() {
  ours = others = 0;
  counting = true;
}

Allocations stop_counting() {
  counting = false;
  return {ours, others};
}

void* counted(size_t bytes, size_t alignment, const void* caller) {
  if (counting.load(std::memory_order_relaxed)) {
    const auto* at = static_cast<const char*>(caller);
    (at >= &__executable_start && at < &etext ? ours : others).fetch_add(1, std::memory_order_relaxed);
  }
  const auto rounded = (bytes + alignment - 1) / alignment * alignment;
  void* memory = alignment <= alignof(std::max_align_t) ? std::malloc(bytes == 0 ? 1 : bytes)
                                                        : std::aligned_alloc(alignment, rounded);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

}  // namespace galvatron::bench

void* operator new(size_t bytes) {
  return galvatron::bench::counted(bytes, 1, __builtin_return_address(0));
}
void* operator new[](size_t bytes) {
  return galvatron::bench::counted(bytes, 1, __builtin_return_address(0));
}
void* operator new(size_t bytes, std::align_val_t alignment) {
  return galvatron::bench::counted(bytes, static_cast<size_t>(alignment), __builtin_return_address(0));
}
void* operator new[](size_t bytes, std::align_val_t alignment) {
  return galvatron::bench::counted(bytes, static_cast<size_t>(alignment), __builtin_return_address(0));
}
void operator delete(void* memory) noexcept {
  std::free(memory);
}
void operator delete[](void* memory) noexcept {
  std::free(memory);
}
void operator delete(void* memory, size_t) noexcept {
  std::free(memory);
}
void operator delete[](void* memory, size_t) noexcept {
  std::free(memory);
}
void operator delete(void* memory, std::align_val_t) noexcept {
  std::free(memory);
}
void operator delete[](void* memory, std::align_val_t) noexcept {
  std::free(memory);
}
void operator delete(void* memory, size_t, std::align_val_t) noexcept {
  std::free(memory);
}
void operator delete[](void* memory, size_t, std::align_val_t) noexcept {
  std::free(memory);
}
