#pragma once
// Where memory lives and in which order work is done on it. The three kinds differ in nothing that a caller
// can see except speed: `cpu` computes, `cuda` computes elsewhere, `dry` only counts, so that any rank of any
// job can be rehearsed on a login node. Host code never follows a pointer into device memory: it asks the
// device to move or clear bytes (plain memory functions on the CPU), or looks through a HostWindow.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

namespace galvatron::device {

enum class DeviceKind { cpu, cuda, dry };

std::string to_string(DeviceKind kind);

class Device;
class Stream;

/// What Buffer and HostBuffer are: owned bytes, move-only, freed on destruction.
class OwnedBytes {
 public:
  std::byte* data() const { return data_; }
  int64_t bytes() const { return bytes_; }

 protected:
  enum class Place { device, host };

  OwnedBytes() = default;
  OwnedBytes(Device& device, Place place, std::byte* data, int64_t bytes)
      : device_(&device), place_(place), data_(data), bytes_(bytes) {}
  OwnedBytes(OwnedBytes&& other) noexcept;
  OwnedBytes& operator=(OwnedBytes&& other) noexcept;
  ~OwnedBytes();

 private:
  void release() noexcept;

  Device* device_ = nullptr;
  Place place_ = Place::device;
  std::byte* data_ = nullptr;
  int64_t bytes_ = 0;
};

/// Bytes of a device. `data()` is null on a dry one.
class Buffer : public OwnedBytes {
 public:
  Buffer() = default;
  Buffer(Device& device, int64_t bytes);
};

/// Bytes of the host that a device can reach: page-locked beside a CUDA device, so that copies run while the
/// host goes on and kernels may read and write it (slowly). Zero-filled, real on every kind, not part of the
/// device's bytes.
class HostBuffer : public OwnedBytes {
 public:
  HostBuffer() = default;
  HostBuffer(Device& device, int64_t bytes);

  std::span<std::byte> span() const { return {data(), static_cast<size_t>(bytes())}; }
};

/// A point in a stream's work. An event that was never recorded counts as reached.
class Event {
 public:
  virtual ~Event() = default;
  /// Moves the point to behind everything that `stream` has been given so far.
  virtual void record(Stream& stream) = 0;
  /// True when the point is reached; never waits.
  virtual bool query() = 0;
  /// The host waits for the point.
  virtual void synchronize() = 0;
  /// Seconds from `earlier` to this point; both are reached and were made by the same device.
  virtual double seconds_since(const Event& earlier) const = 0;
};

/// Work that a stream was given while it captured, to be given again as a whole.
class Graph {
 public:
  virtual ~Graph() = default;
  virtual void launch(Stream& stream) = 0;
};

/// An in-order queue of work. On the CPU work is done before the call returns, so there is nothing to wait
/// for.
class Stream {
 public:
  virtual ~Stream() = default;
  /// The host waits for all work given so far.
  virtual void synchronize() = 0;
  /// Work given from now on waits for the event's point as it is now; the host goes on.
  virtual void wait(Event& event) = 0;

  /// Whether work can be captured: not where it is done before the call returns.
  virtual bool captures() const { return false; }
  /// Until the capture ends, work is noted with its arguments and not done. Meanwhile nobody waits for the
  /// stream, and it meets no event.
  virtual void begin_capture();
  /// What was noted. Throws core::Error where it cannot be given again.
  virtual std::unique_ptr<Graph> end_capture();
  /// Forgets what was noted, after an error too.
  virtual void abandon_capture() noexcept {}
};

/// What a stream is for. Communication goes before compute where the device has to choose: others wait for
/// it.
enum class StreamUse { compute, communication, copy };

/// A place with memory and queues. Streams, events and buffers do not outlive it.
class Device {
 public:
  virtual ~Device() = default;
  virtual DeviceKind kind() const = 0;
  virtual std::string name() const = 0;
  /// Names the piece of hardware within its node, the same in every process there that uses it; empty where
  /// sharing does no harm.
  virtual std::string identity() const { return {}; }

  virtual std::unique_ptr<Stream> make_stream(StreamUse use = StreamUse::compute) = 0;
  virtual std::unique_ptr<Event> make_event() = 0;

  /// Zero-filled, aligned to 64 bytes (huge pages where that pays). Throws core::ResourceError with the
  /// sizes.
  virtual std::byte* allocate(int64_t bytes) = 0;
  virtual void deallocate(std::byte* data, int64_t bytes) noexcept = 0;
  /// Host memory as HostBuffer has it; `bytes` may be 0 (null).
  virtual std::byte* allocate_host(int64_t bytes);
  virtual void deallocate_host(std::byte* data) noexcept;

  // In stream order, bytes on the device at `to`, `from` or `data`. The host's bytes stay as they are until
  // the stream has come so far. Device ranges do not overlap. Nothing on a dry device.
  virtual void upload(Stream& stream, std::span<const std::byte> from, std::byte* to) = 0;
  virtual void download(Stream& stream, const std::byte* from, std::span<std::byte> to) = 0;
  virtual void copy(Stream& stream, const std::byte* from, std::byte* to, int64_t bytes) = 0;
  virtual void zero(Stream& stream, std::byte* data, int64_t bytes) = 0;

  /// Bytes held now, and the most ever held.
  virtual int64_t bytes_in_use() const = 0;
  virtual int64_t peak_bytes() const = 0;
};

/// `local_rank`: this rank's place on its node, which chooses among its devices. Throws core::UserError
/// (environment) when the kind was not built in or is not there.
std::unique_ptr<Device> make_device(DeviceKind kind, int local_rank = 0);

}  // namespace galvatron::device
