// The CUDA runtime behind Device. Memory is taken in one piece by whoever owns an arena, so plain cudaMalloc
// serves; a pool of the driver would only hide what a plan has counted.
#include "device/cuda/cuda_device.hpp"

#include <cstring>

#include "core/errors.hpp"
#include "core/format.hpp"
#include "core/units.hpp"
#include "device/backends.hpp"
#include "device/cuda/nvml.hpp"

namespace galvatron::device {
namespace cuda {
namespace {

/// As NVML and NCCL write it: 0000:1b:00.0.
std::string address_of(int index) {
  char text[32] = "";
  GALV_CUDA(cudaDeviceGetPCIBusId(text, sizeof text, index));
  return text;
}

int visible_devices() {
  int count = 0;
  GALV_CUDA(cudaGetDeviceCount(&count));
  if (count == 0)
    throw core::UserError(core::ExitCode::environment, "no CUDA device is visible to this process");
  return count;
}

}  // namespace

namespace {

class CudaGraph final : public Graph {
 public:
  explicit CudaGraph(cudaGraph_t captured) : handle_(captured) {}
  void launch(Stream& stream) override { GALV_CUDA(cudaGraphLaunch(handle_.get(), native(stream))); }

 private:
  GraphHandle handle_;
};

}  // namespace

bool reached(cudaEvent_t event) {
  const auto code = cudaEventQuery(event);
  if (code != cudaErrorNotReady) check(code, "work on the device", std::source_location::current());
  return code == cudaSuccess;
}

void CudaStream::synchronize() {
  waiter_.until([this] { return cudaStreamQuery(get()); });
}

void CudaStream::wait(Event& event) {
  GALV_CUDA(cudaStreamWaitEvent(get(), static_cast<CudaEvent&>(event).get(), cudaEventWaitDefault));
}

void CudaStream::begin_capture() {
  // Calls of other threads (NCCL, the watchdog) are no part of it and may be of any kind.
  GALV_CUDA(cudaStreamBeginCapture(get(), cudaStreamCaptureModeThreadLocal));
}

std::unique_ptr<Graph> CudaStream::end_capture() {
  cudaGraph_t captured = nullptr;
  GALV_CUDA(cudaStreamEndCapture(get(), &captured));
  return std::make_unique<CudaGraph>(captured);
}

void CudaStream::abandon_capture() noexcept {
  auto status = cudaStreamCaptureStatusNone;
  cudaGraph_t captured = nullptr;
  if (cudaStreamIsCapturing(get(), &status) == cudaSuccess && status != cudaStreamCaptureStatusNone)
    cudaStreamEndCapture(get(), &captured);
  if (captured != nullptr) cudaGraphDestroy(captured);
  cudaGetLastError();  // what made the capture void is not the next call's error
}

void CudaEvent::record(Stream& stream) {
  GALV_CUDA(cudaEventRecord(get(), native(stream)));
}

bool CudaEvent::query() {
  return reached(get());
}

void CudaEvent::synchronize() {
  waiter_.until([this] { return cudaEventQuery(get()); });
}

double CudaEvent::seconds_since(const Event& earlier) const {
  float milliseconds = 0;
  GALV_CUDA(cudaEventElapsedTime(&milliseconds, static_cast<const CudaEvent&>(earlier).get(), get()));
  return static_cast<double>(milliseconds) * 1e-3;
}

CudaDevice::CudaDevice(int local_rank) {
  GALV_ASSERT(local_rank >= 0, local_rank);
  index_ = local_rank % visible_devices();
  activate();
  cudaDeviceProp properties{};
  GALV_CUDA(cudaGetDeviceProperties(&properties, index_));
  name_ = properties.name;
  address_ = address_of(index_);
}

DeviceFacts CudaDevice::facts() const {
  DeviceFacts facts;
  if (const auto nvml = Nvml::open()) {
    const auto reading = nvml->read(address_).value_or(NvmlReading{});
    facts.clock_hz = reading.sm_clock_hz.value_or(0);
    facts.memory_clock_hz = reading.memory_clock_hz.value_or(0);
    facts.energy_joules = reading.energy_joules.value_or(0);
  }
  for (int other = 0; other < visible_devices(); ++other) {
    int reached = 0;
    if (other != index_) GALV_CUDA(cudaDeviceCanAccessPeer(&reached, index_, other));
    if (reached != 0) facts.peers.push_back(address_of(other));
  }
  return facts;
}

int64_t CudaDevice::available_bytes() const {
  activate();
  size_t left = 0;
  size_t all = 0;
  GALV_CUDA(cudaMemGetInfo(&left, &all));
  return static_cast<int64_t>(left);
}

void CudaDevice::activate() const {
  GALV_CUDA(cudaSetDevice(index_));
}

std::unique_ptr<Stream> CudaDevice::make_stream(StreamUse use) {
  activate();
  int least = 0;
  int greatest = 0;
  GALV_CUDA(cudaDeviceGetStreamPriorityRange(&least, &greatest));
  return std::make_unique<CudaStream>(use == StreamUse::communication ? greatest : least, waiter_);
}

std::unique_ptr<Event> CudaDevice::make_event() {
  activate();
  return std::make_unique<CudaEvent>(waiter_);
}

std::byte* CudaDevice::allocate(int64_t bytes) {
  GALV_ASSERT(bytes >= 0, bytes);
  if (bytes == 0) return nullptr;
  activate();
  void* data = nullptr;
  const auto code = cudaMalloc(&data, static_cast<size_t>(bytes));
  if (code == cudaErrorMemoryAllocation) {
    cudaGetLastError();
    size_t left = 0;
    size_t all = 0;
    GALV_CUDA(cudaMemGetInfo(&left, &all));
    throw core::ResourceError(
        core::format("cannot allocate {} on {}: {} of {} are free; this process holds {}",
                     core::format_bytes(bytes), name_, core::format_bytes(static_cast<int64_t>(left)),
                     core::format_bytes(static_cast<int64_t>(all)), core::format_bytes(counter_.in_use())));
  }
  check(code, "cudaMalloc", std::source_location::current());
  counter_.add(bytes);
  // Other streams do not wait for the default one, so the zeros must be there on return.
  GALV_CUDA(cudaMemsetAsync(data, 0, static_cast<size_t>(bytes), cudaStreamPerThread));
  GALV_CUDA(cudaStreamSynchronize(cudaStreamPerThread));
  return static_cast<std::byte*>(data);
}

void CudaDevice::deallocate(std::byte* data, int64_t bytes) noexcept {
  if (!data) return;
  cudaFree(data);  // after a fault it fails too: the process is about to end
  counter_.remove(bytes);
}

std::byte* CudaDevice::allocate_host(int64_t bytes) {
  GALV_ASSERT(bytes >= 0, bytes);
  if (bytes == 0) return nullptr;
  activate();
  void* data = nullptr;
  GALV_CUDA(cudaHostAlloc(&data, static_cast<size_t>(bytes), cudaHostAllocPortable | cudaHostAllocMapped));
  std::memset(data, 0, static_cast<size_t>(bytes));
  return static_cast<std::byte*>(data);
}

void CudaDevice::deallocate_host(std::byte* data) noexcept {
  cudaFreeHost(data);  // as above
}

void CudaDevice::upload(Stream& stream, std::span<const std::byte> from, std::byte* to) {
  if (from.empty()) return;
  GALV_CUDA(cudaMemcpyAsync(to, from.data(), from.size(), cudaMemcpyHostToDevice, native(stream)));
}

void CudaDevice::download(Stream& stream, const std::byte* from, std::span<std::byte> to) {
  if (to.empty()) return;
  GALV_CUDA(cudaMemcpyAsync(to.data(), from, to.size(), cudaMemcpyDeviceToHost, native(stream)));
}

void CudaDevice::copy(Stream& stream, const std::byte* from, std::byte* to, int64_t bytes) {
  if (bytes == 0) return;
  GALV_CUDA(cudaMemcpyAsync(to, from, static_cast<size_t>(bytes), cudaMemcpyDeviceToDevice, native(stream)));
}

void CudaDevice::zero(Stream& stream, std::byte* data, int64_t bytes) {
  if (bytes == 0) return;
  GALV_CUDA(cudaMemsetAsync(data, 0, static_cast<size_t>(bytes), native(stream)));
}

}  // namespace cuda

std::unique_ptr<Device> make_cuda_device(int local_rank) {
  return std::make_unique<cuda::CudaDevice>(local_rank);
}

}  // namespace galvatron::device
