// The replaced operator new. The linker says where this executable's code begins and ends; the stack says on
// whose behalf a library asks.

#include "support/allocations.hpp"

#include <cxxabi.h>
#include <dlfcn.h>
#include <execinfo.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <new>

#include "core/format.hpp"

// Given by the linker: the first byte of the executable's image, and the first after its code.
extern "C" const char __executable_start;
extern "C" const char etext;

namespace galvatron::testing {
namespace {

constexpr int deepest = 32;  // frames looked at
constexpr int shown = 8;     // and named

/// Who asked for memory, innermost first.
struct Stack {
  std::array<void*, deepest> frames{};
  int depth = 0;
};

std::atomic<bool> counting{false};
std::atomic<int64_t> ours{0}, others{0};
std::array<Stack, 4> kept;  // of the first calls of ours

bool in_executable(const void* address) {
  const auto* at = static_cast<const char*>(address);
  return at >= &__executable_start && at < &etext;
}

/// Code that works for whoever calls it.
bool is_helper(const void* address) {
  Dl_info info{};
  if (dladdr(address, &info) == 0 || info.dli_fname == nullptr) return false;
  constexpr std::array helpers = {"libstdc++", "libfmt", "libasan", "libtsan"};
  return std::any_of(helpers.begin(), helpers.end(),
                     [&](const char* name) { return std::strstr(info.dli_fname, name) != nullptr; });
}

/// The stack from the caller of operator new outwards.
Stack stack_from(void* caller) {
  Stack all;
  all.depth = backtrace(all.frames.data(), deepest);
  void* const* end = all.frames.cbegin() + all.depth;
  void* const* first = std::find(all.frames.cbegin(), end, caller);
  Stack rest;
  rest.depth = static_cast<int>(end - first);
  std::copy(first, end, rest.frames.begin());
  return rest;
}

void count(void* caller) {
  const auto stack = stack_from(caller);
  const auto end = stack.frames.begin() + stack.depth;
  const auto asks = std::find_if_not(stack.frames.begin(), end, is_helper);
  if (asks == end || !in_executable(*asks)) {
    others.fetch_add(1, std::memory_order_relaxed);
    return;
  }
  const auto number = ours.fetch_add(1, std::memory_order_relaxed);
  if (number < static_cast<int64_t>(kept.size())) kept[static_cast<size_t>(number)] = stack;
}

std::string name_of(void* address) {
  Dl_info info{};
  if (dladdr(address, &info) == 0) return "?";
  if (info.dli_sname == nullptr) {  // what addr2line understands
    const auto offset = static_cast<const char*>(address) - static_cast<const char*>(info.dli_fbase);
    return core::format("{}+{:#x}", info.dli_fname, offset);
  }
  int status = 0;
  char* readable = abi::__cxa_demangle(info.dli_sname, nullptr, nullptr, &status);
  std::string name = status == 0 ? readable : info.dli_sname;
  std::free(readable);
  constexpr size_t longest = 160;  // templates of the C++ library have long names
  if (name.size() > longest) name.resize(longest);
  return name;
}

}  // namespace

void start_counting() {
  std::array<void*, 1> frame{};
  backtrace(frame.data(), 1);  // the first call loads a library
  ours = others = 0;
  counting = true;
}

Allocations stop_counting() {
  counting = false;
  Allocations found{ours, others};
  for (int64_t i = 0; i < std::min<int64_t>(ours, kept.size()); ++i) {
    const auto& stack = kept[static_cast<size_t>(i)];
    std::string text;
    for (int f = 0; f < std::min(stack.depth, shown); ++f)
      text += (f > 0 ? " <- " : "") + name_of(stack.frames[f]);
    found.callers.push_back(text);
  }
  return found;
}

void* counted(size_t bytes, size_t alignment, void* caller) {
  if (counting.load(std::memory_order_relaxed)) count(caller);
  const auto rounded = (bytes + alignment - 1) / alignment * alignment;
  void* memory = alignment <= alignof(std::max_align_t) ? std::malloc(bytes == 0 ? 1 : bytes)
                                                        : std::aligned_alloc(alignment, rounded);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

}  // namespace galvatron::testing

void* operator new(size_t bytes) {
  return galvatron::testing::counted(bytes, 1, __builtin_return_address(0));
}
void* operator new[](size_t bytes) {
  return galvatron::testing::counted(bytes, 1, __builtin_return_address(0));
}
void* operator new(size_t bytes, std::align_val_t alignment) {
  return galvatron::testing::counted(bytes, static_cast<size_t>(alignment), __builtin_return_address(0));
}
void* operator new[](size_t bytes, std::align_val_t alignment) {
  return galvatron::testing::counted(bytes, static_cast<size_t>(alignment), __builtin_return_address(0));
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
