#pragma once
// A CUDA device, its streams and events, for the other rooms' CUDA files: they need the handles inside. All
// others know Device, Stream and Event only.

#include <cuda_runtime_api.h>

#include <functional>
#include <memory>
#include <string>

#include "device/counter.hpp"
#include "device/cuda/handles.hpp"
#include "device/cuda/waiter.hpp"
#include "device/own_memory.hpp"

namespace galvatron::device::cuda {

/// True when everything before the event is done. Throws what went wrong with it.
bool reached(cudaEvent_t event);

class CudaStream final : public Stream {
 public:
  CudaStream(int priority, const Waiter& waiter) : handle_(priority), waiter_(waiter) {}
  void synchronize() override;
  void wait(Event& event) override;
  bool captures() const override { return true; }
  void begin_capture() override;
  std::unique_ptr<Graph> end_capture() override;
  void abandon_capture() noexcept override;
  cudaStream_t get() const { return handle_.get(); }

 private:
  StreamHandle handle_;
  const Waiter& waiter_;
};

class CudaEvent final : public Event {
 public:
  explicit CudaEvent(const Waiter& waiter) : handle_(EventUse::time), waiter_(waiter) {}
  void record(Stream& stream) override;
  bool query() override;
  void synchronize() override;
  double seconds_since(const Event& earlier) const override;
  cudaEvent_t get() const { return handle_.get(); }

 private:
  EventHandle handle_;
  const Waiter& waiter_;
};

/// The handle inside a stream of a CUDA device.
inline cudaStream_t native(Stream& stream) {
  return static_cast<CudaStream&>(stream).get();
}

class CudaDevice final : public OwnMemory {
 public:
  /// Device number `local_rank` modulo the devices that this process may see (a launcher that gives each rank
  /// one device leaves number 0 only).
  explicit CudaDevice(int local_rank);

  DeviceKind kind() const override { return DeviceKind::cuda; }
  std::string name() const override { return name_; }
  /// The PCI address, by which NCCL too tells devices apart: parts of one device have the same.
  std::string identity() const override { return address_; }
  DeviceFacts facts() const override;
  std::unique_ptr<Stream> make_stream(StreamUse use) override;
  std::unique_ptr<Event> make_event() override;
  std::byte* allocate(int64_t bytes) override;
  void deallocate(std::byte* data, int64_t bytes) noexcept override;
  std::byte* allocate_host(int64_t bytes) override;
  void deallocate_host(std::byte* data) noexcept override;
  void upload(Stream& stream, std::span<const std::byte> from, std::byte* to) override;
  void download(Stream& stream, const std::byte* from, std::span<std::byte> to) override;
  void copy(Stream& stream, const std::byte* from, std::byte* to, int64_t bytes) override;
  void zero(Stream& stream, std::byte* data, int64_t bytes) override;
  int64_t bytes_in_use() const override { return counter_.in_use(); }
  int64_t peak_bytes() const override { return counter_.peak(); }
  int64_t available_bytes() const override;

  /// Number for cudaSetDevice.
  int index() const { return index_; }
  /// Makes it the calling thread's device; every call above does so itself.
  void activate() const;
  /// Between two questions of a waiting host `poll` is called; what it throws ends the wait.
  void set_poll(std::function<void()> poll) { waiter_.set_poll(std::move(poll)); }
  const Waiter& waiter() const { return waiter_; }

 private:
  int index_ = 0;
  std::string name_;
  std::string address_;
  Waiter waiter_;
  ByteCounter counter_;
};

}  // namespace galvatron::device::cuda
