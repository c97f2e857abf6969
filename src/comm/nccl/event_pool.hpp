#pragma once
// Events that order streams, used again and again: after the first step of a run none is made any more.

#include <cuda_runtime_api.h>

#include <utility>
#include <vector>

#include "device/cuda/handles.hpp"

namespace galvatron::comm::nccl {

class EventPool {
 public:
  /// A borrowed event, given back on destruction. What waits for it goes on waiting. Move-only.
  class Event {
   public:
    Event() = default;
    Event(EventPool& pool, device::cuda::EventHandle handle) : pool_(&pool), handle_(std::move(handle)) {}
    Event(Event&& other) noexcept = default;
    Event& operator=(Event&& other) noexcept {
      std::swap(pool_, other.pool_);
      std::swap(handle_, other.handle_);
      return *this;
    }
    ~Event() {
      if (handle_.get() != nullptr) pool_->free_.push_back(std::move(handle_));
    }
    cudaEvent_t get() const { return handle_.get(); }

   private:
    EventPool* pool_ = nullptr;
    device::cuda::EventHandle handle_;
  };

  /// An event behind everything that `stream` has been given so far. The pool outlives it.
  Event after(cudaStream_t stream) {
    if (free_.empty()) free_.emplace_back(device::cuda::EventUse::order);
    Event event(*this, std::move(free_.back()));
    free_.pop_back();
    GALV_CUDA(cudaEventRecord(event.get(), stream));
    return event;
  }

 private:
  std::vector<device::cuda::EventHandle> free_;
};

}  // namespace galvatron::comm::nccl
