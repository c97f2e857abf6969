// The sender names the meeting place (NCCL's unique id) in a message of the host, and both go there.
#include "comm/nccl/lane.hpp"

#include <utility>

#include "comm/nccl/check.hpp"
#include "core/errors.hpp"

namespace galvatron::comm::nccl {
namespace {

TensorView bytes_of(ncclUniqueId& id) {
  return device::vector(&id, core::DType::u8, sizeof id);
}

}  // namespace

Lane::Lane(Resources& resources, Communicator& host, Side side, int peer, int channel, std::string name)
    : resources_(resources),
      host_(host),
      side_(side),
      peer_(peer),
      channel_(channel),
      name_(std::move(name)),
      stream_(resources.device.make_stream(device::StreamUse::communication)) {
  if (side_ == Side::receiver) hello_ = host_.receive(bytes_of(id_), peer_, channel_);
}

void Lane::open() {
  if (comm_) return;
  resources_.device.activate();
  if (side_ == Side::sender) {
    GALV_NCCL(ncclGetUniqueId(&id_));
    hello_ = host_.send(bytes_of(id_), peer_, channel_);
  }
  if (side_ == Side::receiver) hello_.wait();
  comm_ = CommHandle(resources_.live, id_, side_ == Side::sender ? 0 : 1, 2, name_);
  hello_.wait();
}

EventPool::Event Lane::send(const TensorView& data, cudaStream_t compute) {
  open();
  const auto written = resources_.events.after(compute);
  GALV_CUDA(cudaStreamWaitEvent(stream(), written.get(), cudaEventWaitDefault));
  if (data.bytes() > 0) {
    GALV_NCCL(ncclSend(data.data, static_cast<size_t>(data.bytes()), ncclUint8, 1, comm_.get(), stream()));
    comm_.settle();
  }
  return resources_.events.after(stream());
}

std::shared_ptr<Wanted> Lane::expect(const TensorView& data, cudaStream_t compute) {
  auto wanted = std::make_shared<Wanted>();
  wanted->data = data;
  wanted->room = resources_.events.after(compute);
  line_.push_back(wanted);
  return wanted;
}

bool Lane::ready() {
  return comm_ || hello_.test();
}

void Lane::fetch(Wanted& wanted) {
  open();
  while (!wanted.queued) {
    GALV_ASSERT(!line_.empty(), name_);
    const auto next = std::move(line_.front());
    line_.pop_front();
    GALV_CUDA(cudaStreamWaitEvent(stream(), next->room.get(), cudaEventWaitDefault));
    if (next->data.bytes() > 0) {
      GALV_NCCL(ncclRecv(next->data.data, static_cast<size_t>(next->data.bytes()), ncclUint8, 0, comm_.get(),
                         stream()));
      comm_.settle();
    }
    next->come = resources_.events.after(stream());
    next->queued = true;
  }
}

}  // namespace galvatron::comm::nccl
