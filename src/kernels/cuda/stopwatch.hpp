#pragma once
// How long queued work takes on its stream, for choosing among ways to do it.

#include <cuda_runtime_api.h>

#include <functional>

namespace galvatron::kernels::cuda {

/// Seconds of one play: queues it once to load the code, then several times between two events.
double seconds_on(cudaStream_t stream, const std::function<void()>& queue);

}  // namespace galvatron::kernels::cuda
