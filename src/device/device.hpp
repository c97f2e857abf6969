#pragma once
// Where memory lives and in which order work is done on it. The three kinds differ in nothing that a caller
// can see except speed: `cpu` computes, `cuda` computes elsewhere, `dry` only counts, so that any rank of any
// job can be rehearsed on a login node.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

namespace galvatron::device {

enum class DeviceKind { cpu, cuda, dry };

std::string to_string(DeviceKind kind);

class Device;

/// Owned bytes on a device. Move-only; freed on destruction. `data()` is null on a dry device.
class Buffer {
 public:
  Buffer() = default;
  Buffer(Device& device, int64_t bytes);
  Buffer(Buffer&& other) noexcept;
  Buffer& operator=(Buffer&& other) noexcept;
  ~Buffer();

  std::byte* data() const { return data_; }
  int64_t bytes() const { return bytes_; }

 private:
  void release() noexcept;

  Device* device_ = nullptr;
  std::byte* data_ = nullptr;
  int64_t bytes_ = 0;
};

/// An in-order queue of work. On the CPU work is done before the call returns, so `synchronize` has nothing
/// to wait for.
class Stream {
 public:
  virtual ~Stream() = default;
  virtual void synchronize() = 0;
};

/// A place with memory and queues.
class Device {
 public:
  virtual ~Device() = default;
  virtual DeviceKind kind() const = 0;
  virtual std::string name() const = 0;
  virtual std::unique_ptr<Stream> make_stream() = 0;

  /// Zero-filled, aligned to 64 bytes (huge pages where that pays). Throws core::ResourceError with the
  /// sizes.
  virtual std::byte* allocate(int64_t bytes) = 0;
  virtual void deallocate(std::byte* data, int64_t bytes) noexcept = 0;

  /// Bytes held now, and the most ever held.
  virtual int64_t bytes_in_use() const = 0;
  virtual int64_t peak_bytes() const = 0;
};

/// Throws core::UserError (environment) when the kind was not built in or is not there.
std::unique_ptr<Device> make_device(DeviceKind kind);

}  // namespace galvatron::device
