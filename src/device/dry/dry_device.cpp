// The device that only counts: null data, exact bytes. It lets any rank of any job be rehearsed anywhere.

#include "core/errors.hpp"
#include "device/backends.hpp"
#include "device/counter.hpp"

namespace galvatron::device {
namespace {

class DryStream final : public Stream {
 public:
  void synchronize() override {}
  void wait(Event&) override {}
};

class DryEvent final : public Event {
 public:
  void record(Stream&) override {}
  bool query() override { return true; }
  void synchronize() override {}
  double seconds_since(const Event&) const override { return 0.0; }
};

class DryDevice final : public Device {
 public:
  DeviceKind kind() const override { return DeviceKind::dry; }
  std::string name() const override { return "dry"; }
  std::unique_ptr<Stream> make_stream(StreamUse) override { return std::make_unique<DryStream>(); }
  std::unique_ptr<Event> make_event() override { return std::make_unique<DryEvent>(); }

  std::byte* allocate(int64_t bytes) override {
    GALV_ASSERT(bytes >= 0, bytes);
    counter_.add(bytes);
    return nullptr;
  }
  void deallocate(std::byte*, int64_t bytes) noexcept override { counter_.remove(bytes); }

  void upload(Stream&, std::span<const std::byte>, std::byte*) override {}
  void download(Stream&, const std::byte*, std::span<std::byte>) override {}
  void copy(Stream&, const std::byte*, std::byte*, int64_t) override {}
  void zero(Stream&, std::byte*, int64_t) override {}

  int64_t bytes_in_use() const override { return counter_.in_use(); }
  int64_t peak_bytes() const override { return counter_.peak(); }

 private:
  ByteCounter counter_;
};

}  // namespace

std::unique_ptr<Device> make_dry_device() {
  return std::make_unique<DryDevice>();
}

}  // namespace galvatron::device
