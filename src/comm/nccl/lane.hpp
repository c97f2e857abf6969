#pragma once
// Messages of one channel from one member to another. NCCL's messages have no tags and stand in line on their
// stream, so that a posted receive would hold up whatever comes after it. Each lane therefore has a stream
// and a communicator of two ranks of its own, made when its first message is wanted on both sides.

#include <deque>
#include <memory>

#include "comm/communicator.hpp"
#include "comm/nccl/comm_handle.hpp"
#include "comm/nccl/event_pool.hpp"
#include "device/cuda/cuda_device.hpp"

namespace galvatron::comm::nccl {

/// What all communicators of a rank share. Outlives them.
struct Resources {
  explicit Resources(device::cuda::CudaDevice& cuda_device)
      : device(cuda_device), stream(cuda_device.make_stream(device::StreamUse::communication)) {}

  device::cuda::CudaDevice& device;
  LiveComms live;
  EventPool events;
  /// The one queue of all collectives: those of two communicators never run at the same time, which NCCL
  /// cannot promise to survive when ranks start them in different orders.
  std::unique_ptr<device::Stream> stream;
};

enum class Side { sender, receiver };

/// A message that a receiver has asked for. Owned by the lane's line and by the Pending, whichever ends last.
struct Wanted {
  TensorView data;
  EventPool::Event room;  ///< from then on `data` may be written
  EventPool::Event come;  ///< once queued: the message is there
  bool queued = false;
};

class Lane {
 public:
  /// Makes nothing yet. `host` connects the group in host memory, `peer` is the other one's index there. Both
  /// outlive the lane.
  Lane(Resources& resources, Communicator& host, Side side, int peer, int channel, std::string name);

  /// Sender: queues a message behind the work that `compute` has been given; returns an event behind it. The
  /// first message of a lane waits until its receiver waits for it.
  EventPool::Event send(const TensorView& data, cudaStream_t compute);

  /// Receiver: puts a message in the line; nothing is queued on the device yet.
  std::shared_ptr<Wanted> expect(const TensorView& data, cudaStream_t compute);
  /// Receiver: true when `fetch` would not wait for the sender's first message.
  bool ready();
  /// Receiver: queues the line up to this message. The first one of a lane waits for its sender.
  void fetch(Wanted& wanted);

  void begin_end() noexcept { comm_.begin_end(); }

 private:
  void open();
  cudaStream_t stream() const { return device::cuda::native(*stream_); }

  Resources& resources_;
  Communicator& host_;
  Side side_;
  int peer_;
  int channel_;
  std::string name_;
  std::unique_ptr<device::Stream> stream_;
  ncclUniqueId id_{};
  Pending hello_;  // the id on its way
  CommHandle comm_;
  std::deque<std::shared_ptr<Wanted>> line_;
};

}  // namespace galvatron::comm::nccl
