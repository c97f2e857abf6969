// The few functions of NVML that are used, declared here by their stable binary interface: machines that have
// the driver often lack its header.
#include "device/cuda/nvml.hpp"

#include <dlfcn.h>

#include <utility>

namespace galvatron::device::cuda {
namespace {

using Return = int;
using Handle = struct OpaqueDevice*;
constexpr Return success = 0;
constexpr int sm_clock = 1;
constexpr int memory_clock = 2;
constexpr unsigned text_length = 96;

struct CloseLibrary {
  void operator()(void* library) const { dlclose(library); }
};

}  // namespace

struct Nvml::Functions {
  std::unique_ptr<void, CloseLibrary> library;
  Return (*init)() = nullptr;
  Return (*shutdown)() = nullptr;
  Return (*handle_by_address)(const char*, Handle*) = nullptr;
  Return (*name)(Handle, char*, unsigned) = nullptr;
  Return (*uuid)(Handle, char*, unsigned) = nullptr;
  Return (*clock)(Handle, int, unsigned*) = nullptr;
  Return (*energy)(Handle, unsigned long long*) = nullptr;

  template <class Function>
  bool find(Function& function, const char* symbol) const {
    function = reinterpret_cast<Function>(dlsym(library.get(), symbol));
    return function != nullptr;
  }
  bool find_all() {
    return find(init, "nvmlInit_v2") && find(shutdown, "nvmlShutdown") &&
           find(handle_by_address, "nvmlDeviceGetHandleByPciBusId_v2") && find(name, "nvmlDeviceGetName") &&
           find(uuid, "nvmlDeviceGetUUID") && find(clock, "nvmlDeviceGetClockInfo") &&
           find(energy, "nvmlDeviceGetTotalEnergyConsumption");
  }
};

Nvml::Nvml(std::unique_ptr<Functions> functions) : functions_(std::move(functions)) {}
Nvml::Nvml(Nvml&&) noexcept = default;
Nvml& Nvml::operator=(Nvml&&) noexcept = default;

Nvml::~Nvml() {
  if (functions_) functions_->shutdown();
}

std::optional<Nvml> Nvml::open(const std::string& library) {
  auto functions = std::make_unique<Functions>();
  functions->library.reset(dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL));
  if (!functions->library || !functions->find_all() || functions->init() != success) return std::nullopt;
  return Nvml(std::move(functions));
}

std::optional<NvmlReading> Nvml::read(const std::string& address) const {
  Handle device = nullptr;
  if (functions_->handle_by_address(address.c_str(), &device) != success) return std::nullopt;
  NvmlReading reading;
  char text[text_length] = "";
  if (functions_->name(device, text, text_length) == success) reading.name = text;
  if (functions_->uuid(device, text, text_length) == success) reading.uuid = text;
  const auto clock = [&](int which) -> std::optional<double> {
    unsigned megahertz = 0;
    if (functions_->clock(device, which, &megahertz) != success) return std::nullopt;
    return 1e6 * megahertz;
  };
  reading.sm_clock_hz = clock(sm_clock);
  reading.memory_clock_hz = clock(memory_clock);
  unsigned long long millijoules = 0;
  if (functions_->energy(device, &millijoules) == success)
    reading.energy_joules = 1e-3 * static_cast<double>(millijoules);
  return reading;
}

}  // namespace galvatron::device::cuda
