#pragma once
// The only owners of CUDA streams, events and graphs.

#include <cuda_runtime_api.h>

#include <utility>

#include "device/cuda/check.hpp"

namespace galvatron::device::cuda {

/// Move-only. Destroying a stream lets its work finish by itself.
class StreamHandle {
 public:
  StreamHandle() = default;
  /// On the current device; does not wait for the legacy default stream. A smaller `priority` goes first.
  explicit StreamHandle(int priority) {
    GALV_CUDA(cudaStreamCreateWithPriority(&stream_, cudaStreamNonBlocking, priority));
  }
  StreamHandle(StreamHandle&& other) noexcept : stream_(std::exchange(other.stream_, nullptr)) {}
  StreamHandle& operator=(StreamHandle&& other) noexcept {
    std::swap(stream_, other.stream_);
    return *this;
  }
  ~StreamHandle() {
    if (stream_ != nullptr) cudaStreamDestroy(stream_);  // after a fault it fails too: nobody left to tell
  }

  cudaStream_t get() const { return stream_; }

 private:
  cudaStream_t stream_ = nullptr;
};

/// Events that only order are cheaper than those that tell the time.
enum class EventUse { order, time };

/// Move-only.
class EventHandle {
 public:
  EventHandle() = default;
  explicit EventHandle(EventUse use) {
    GALV_CUDA(cudaEventCreateWithFlags(&event_,
                                       use == EventUse::order ? cudaEventDisableTiming : cudaEventDefault));
  }
  EventHandle(EventHandle&& other) noexcept : event_(std::exchange(other.event_, nullptr)) {}
  EventHandle& operator=(EventHandle&& other) noexcept {
    std::swap(event_, other.event_);
    return *this;
  }
  ~EventHandle() {
    if (event_ != nullptr) cudaEventDestroy(event_);  // as for streams
  }

  cudaEvent_t get() const { return event_; }

 private:
  cudaEvent_t event_ = nullptr;
};

/// A graph that can be launched. Move-only; one under way is freed when it ends.
class GraphHandle {
 public:
  /// Takes what was captured.
  explicit GraphHandle(cudaGraph_t captured) {
    const auto code = cudaGraphInstantiate(&graph_, captured, 0);
    cudaGraphDestroy(captured);  // a mere description
    check(code, "cudaGraphInstantiate", std::source_location::current());
  }
  GraphHandle(GraphHandle&& other) noexcept : graph_(std::exchange(other.graph_, nullptr)) {}
  GraphHandle& operator=(GraphHandle&& other) noexcept {
    std::swap(graph_, other.graph_);
    return *this;
  }
  ~GraphHandle() {
    if (graph_ != nullptr) cudaGraphExecDestroy(graph_);  // as for streams
  }

  cudaGraphExec_t get() const { return graph_; }

 private:
  cudaGraphExec_t graph_ = nullptr;
};

}  // namespace galvatron::device::cuda
