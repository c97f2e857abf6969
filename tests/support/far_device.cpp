// Each allocation is a mapping of its own without any permission; the device grants them while it works.

#include "support/far_device.hpp"

#include <sys/mman.h>

#include <cstring>
#include <map>

#include "core/errors.hpp"
#include "device/counter.hpp"

namespace galvatron::test {
namespace {

using device::Event;
using device::Stream;

class FarStream final : public Stream {
 public:
  void synchronize() override {}
  void wait(Event&) override {}
};

class FarEvent final : public Event {
 public:
  void record(Stream&) override {}
  bool query() override { return true; }
  void synchronize() override {}
  double seconds_since(const Event&) const override { return 0.0; }
};

class MappedDevice final : public FarDevice {
 public:
  device::DeviceKind kind() const override { return device::DeviceKind::cuda; }
  std::string name() const override { return "far"; }
  std::unique_ptr<Stream> make_stream(device::StreamUse) override { return std::make_unique<FarStream>(); }
  std::unique_ptr<Event> make_event() override { return std::make_unique<FarEvent>(); }

  std::byte* allocate(int64_t bytes) override {
    if (bytes == 0) return nullptr;
    auto* data = mmap(nullptr, static_cast<size_t>(bytes), PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (data == MAP_FAILED) throw core::ResourceError("no far memory");
    mappings_[static_cast<std::byte*>(data)] = bytes;
    counter_.add(bytes);
    return static_cast<std::byte*>(data);
  }
  void deallocate(std::byte* data, int64_t bytes) noexcept override {
    if (!data) return;
    munmap(data, static_cast<size_t>(bytes));
    mappings_.erase(data);
    counter_.remove(bytes);
  }

  void upload(Stream&, std::span<const std::byte> from, std::byte* to) override {
    move(to, from.data(), from.size());
  }
  void download(Stream&, const std::byte* from, std::span<std::byte> to) override {
    move(to.data(), from, to.size());
  }
  void copy(Stream&, const std::byte* from, std::byte* to, int64_t bytes) override {
    move(to, from, static_cast<size_t>(bytes));
  }
  void zero(Stream&, std::byte* data, int64_t bytes) override {
    open();
    if (bytes > 0) std::memset(data, 0, static_cast<size_t>(bytes));
    close();
  }
  int64_t bytes_in_use() const override { return counter_.in_use(); }
  int64_t peak_bytes() const override { return counter_.peak(); }

  void open() override { permit(PROT_READ | PROT_WRITE); }
  void close() override { permit(PROT_NONE); }

 private:
  void permit(int permission) {
    for (const auto& [data, bytes] : mappings_) mprotect(data, static_cast<size_t>(bytes), permission);
  }
  void move(std::byte* to, const std::byte* from, size_t bytes) {
    open();
    if (bytes > 0) std::memcpy(to, from, bytes);
    close();
  }

  std::map<std::byte*, int64_t> mappings_;
  device::ByteCounter counter_;
};

}  // namespace

std::unique_ptr<FarDevice> make_far_device() {
  return std::make_unique<MappedDevice>();
}

}  // namespace galvatron::test
