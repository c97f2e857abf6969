// The device that only counts: null data, exact bytes. It lets any rank of any job be rehearsed anywhere.

#include "core/errors.hpp"
#include "device/backends.hpp"
#include "device/counter.hpp"

namespace galvatron::device {
namespace {

class DryStream final : public Stream {
 public:
  void synchronize() override {}
};

class DryDevice final : public Device {
 public:
  DeviceKind kind() const override { return DeviceKind::dry; }
  std::string name() const override { return "dry"; }
  std::unique_ptr<Stream> make_stream() override { return std::make_unique<DryStream>(); }

  std::byte* allocate(int64_t bytes) override {
    GALV_ASSERT(bytes >= 0, bytes);
    counter_.add(bytes);
    return nullptr;
  }
  void deallocate(std::byte*, int64_t bytes) noexcept override { counter_.remove(bytes); }

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
