// The host as a device. Large allocations come from the kernel directly: they are zero without being written,
// so each thread's first touch places its pages, and they start at a huge page's border, because a training
// arena is walked from end to end.

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>

#include "core/errors.hpp"
#include "core/format.hpp"
#include "core/units.hpp"
#include "device/backends.hpp"
#include "device/counter.hpp"
#include "device/topology.hpp"

namespace galvatron::device {
namespace {

constexpr int64_t alignment = 64;
constexpr int64_t huge_page = 2 * core::mib;
constexpr int64_t mapped_from = 4 * core::mib;

int64_t round_up(int64_t bytes, int64_t unit) {
  return (bytes + unit - 1) / unit * unit;
}

class CpuStream final : public Stream {
 public:
  void synchronize() override {}
  void wait(Event&) override {}
};

/// Work is done when it is given, so the point is always reached.
class CpuEvent final : public Event {
 public:
  void record(Stream&) override { at_ = Clock::now(); }
  bool query() override { return true; }
  void synchronize() override {}
  double seconds_since(const Event& earlier) const override {
    const auto& other = static_cast<const CpuEvent&>(earlier);
    return std::chrono::duration<double>(at_ - other.at_).count();
  }

 private:
  using Clock = std::chrono::steady_clock;
  Clock::time_point at_;
};

class CpuDevice final : public Device {
 public:
  DeviceKind kind() const override { return DeviceKind::cpu; }
  std::string name() const override { return "cpu"; }
  std::unique_ptr<Stream> make_stream(StreamUse) override { return std::make_unique<CpuStream>(); }
  std::unique_ptr<Event> make_event() override { return std::make_unique<CpuEvent>(); }

  std::byte* allocate(int64_t bytes) override {
    GALV_ASSERT(bytes >= 0, bytes);
    if (bytes == 0) return nullptr;
    auto* data = bytes < mapped_from ? allocate_small(bytes) : allocate_mapped(bytes);
    counter_.add(bytes);
    return data;
  }

  void deallocate(std::byte* data, int64_t bytes) noexcept override {
    if (!data) return;
    if (bytes < mapped_from) {
      std::free(data);
    } else {
      munmap(data, static_cast<size_t>(round_up(bytes, page_)));
    }
    counter_.remove(bytes);
  }

  void upload(Stream&, std::span<const std::byte> from, std::byte* to) override {
    if (!from.empty()) std::memcpy(to, from.data(), from.size());
  }
  void download(Stream&, const std::byte* from, std::span<std::byte> to) override {
    if (!to.empty()) std::memcpy(to.data(), from, to.size());
  }
  void copy(Stream&, const std::byte* from, std::byte* to, int64_t bytes) override {
    if (bytes > 0) std::memcpy(to, from, static_cast<size_t>(bytes));
  }
  void zero(Stream&, std::byte* data, int64_t bytes) override {
    if (bytes > 0) std::memset(data, 0, static_cast<size_t>(bytes));
  }

  int64_t bytes_in_use() const override { return counter_.in_use(); }
  int64_t peak_bytes() const override { return counter_.peak(); }

 private:
  [[noreturn]] void fail(int64_t bytes, const std::string& why) const {
    throw core::ResourceError(core::format("cannot allocate {} of host memory: {}; this process holds {}",
                                           core::format_bytes(bytes), why,
                                           core::format_bytes(counter_.in_use())));
  }

  std::byte* allocate_small(int64_t bytes) const {
    const auto padded = static_cast<size_t>(round_up(bytes, alignment));
    auto* data = std::aligned_alloc(alignment, padded);
    if (!data) fail(bytes, "the allocator refused");
    std::memset(data, 0, padded);
    return static_cast<std::byte*>(data);
  }

  std::byte* allocate_mapped(int64_t bytes) const {
    // The kernel promises memory it does not have and kills the process when it is touched: ask first.
    const auto available = available_host_memory();
    if (bytes > available) fail(bytes, core::format("{} are available", core::format_bytes(available)));
    const auto wanted = round_up(bytes, page_);
    auto* raw = mmap(nullptr, static_cast<size_t>(wanted + huge_page), PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (raw == MAP_FAILED) fail(bytes, std::strerror(errno));
    const auto begin = reinterpret_cast<uintptr_t>(raw);
    const auto data = static_cast<uintptr_t>(round_up(static_cast<int64_t>(begin), huge_page));
    const auto head = data - begin;
    const auto tail = static_cast<uintptr_t>(huge_page) - head;
    if (head > 0) munmap(raw, head);
    if (tail > 0) munmap(reinterpret_cast<void*>(data + static_cast<uintptr_t>(wanted)), tail);
    auto* out = reinterpret_cast<std::byte*>(data);
    // A wish: without huge pages it is only slower. The rest of the last one stays small pages, so that no
    // memory is taken beyond what was asked for.
    madvise(out, static_cast<size_t>(wanted / huge_page * huge_page), MADV_HUGEPAGE);
    return out;
  }

  const int64_t page_ = sysconf(_SC_PAGESIZE);
  ByteCounter counter_;
};

}  // namespace

std::unique_ptr<Device> make_cpu_device() {
  return std::make_unique<CpuDevice>();
}

}  // namespace galvatron::device
