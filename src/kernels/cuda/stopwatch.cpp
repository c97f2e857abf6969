// Events of the stream itself, so that the host's time does not count.

#include "kernels/cuda/stopwatch.hpp"

#include "device/cuda/check.hpp"
#include "device/cuda/handles.hpp"

namespace galvatron::kernels::cuda {

double seconds_on(cudaStream_t stream, const std::function<void()>& queue) {
  constexpr int plays = 5;
  const device::cuda::EventHandle begin(device::cuda::EventUse::time), end(device::cuda::EventUse::time);
  queue();
  GALV_CUDA(cudaEventRecord(begin.get(), stream));
  for (int i = 0; i < plays; ++i) queue();
  GALV_CUDA(cudaEventRecord(end.get(), stream));
  GALV_CUDA(cudaEventSynchronize(end.get()));
  float milliseconds = 0;
  GALV_CUDA(cudaEventElapsedTime(&milliseconds, begin.get(), end.get()));
  return static_cast<double>(milliseconds) * 1e-3 / plays;
}

}  // namespace galvatron::kernels::cuda
