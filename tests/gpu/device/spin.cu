// One thread that looks at the device's clock until the time is over.
#include "device/cuda/check.hpp"
#include "device/cuda/cuda_device.hpp"
#include "gpu/device/spin.hpp"

namespace galvatron::test {
namespace {

__global__ void spin_kernel(long long nanoseconds, int* out, int value) {
  unsigned long long begin = 0;
  unsigned long long now = 0;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(begin));
  do {
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
  } while (now - begin < static_cast<unsigned long long>(nanoseconds));
  if (out != nullptr) *out = value;
}

}  // namespace

void spin(device::Stream& stream, double seconds, int* out, int value) {
  spin_kernel<<<1, 1, 0, device::cuda::native(stream)>>>(static_cast<long long>(seconds * 1e9), out, value);
  GALV_CUDA(cudaGetLastError());
}

}  // namespace galvatron::test
