#pragma once
// What NVIDIA's management library knows of a device: names, clocks, energy. It belongs to the driver and is
// opened at run time, so that the program starts on machines without it; a reading that is not to be had is
// absent.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

namespace galvatron::device::cuda {

struct NvmlReading {
  std::string name;
  std::string uuid;
  std::optional<double> sm_clock_hz;
  std::optional<double> memory_clock_hz;
  std::optional<double> energy_joules;  ///< since the driver was loaded
};

/// The open library. Move-only; closed on destruction.
class Nvml {
 public:
  /// Nothing where the library, a function of it or the driver is missing.
  static std::optional<Nvml> open(const std::string& library = "libnvidia-ml.so.1");
  Nvml(Nvml&&) noexcept;
  Nvml& operator=(Nvml&&) noexcept;
  ~Nvml();

  /// By Device::identity(). Nothing for a device that the library does not know.
  std::optional<NvmlReading> read(const std::string& address) const;

 private:
  struct Functions;
  explicit Nvml(std::unique_ptr<Functions> functions);

  std::unique_ptr<Functions> functions_;
};

}  // namespace galvatron::device::cuda
