// /sys/class/powercap/intel-rapl:N is package N (of AMD processors too); its parts, intel-rapl:N:M, are
// counted in it.
#include "measure/energy.hpp"

#include <fstream>
#include <optional>
#include <utility>

#include "core/format.hpp"

namespace galvatron::measure {
namespace {

namespace fs = std::filesystem;

std::optional<int64_t> number_in(const fs::path& file) {
  std::ifstream in(file);
  int64_t value = 0;
  if (!(in >> value)) return std::nullopt;
  return value;
}

}  // namespace

EnergyMeter::EnergyMeter(const fs::path& root, double look_every) {
  find(root / "sys" / "class" / "powercap");
  if (packages_.empty()) return;
  thread_ = std::jthread([this, look_every](const std::stop_token& stop) {
    std::unique_lock lock(mutex_);
    while (!stop.stop_requested()) {
      wake_.wait_for(lock, stop, std::chrono::duration<double>(look_every), [] { return false; });
      look();
    }
  });
}

EnergyMeter::~EnergyMeter() = default;

void EnergyMeter::find(const fs::path& folder) {
  std::error_code error;
  std::string unreadable;
  for (const auto& entry : fs::directory_iterator(folder, error)) {
    const auto name = entry.path().filename().string();
    if (!name.starts_with("intel-rapl:") || name.find(':') != name.rfind(':')) continue;
    const auto file = entry.path() / "energy_uj";
    const auto count = number_in(file), range = number_in(entry.path() / "max_energy_range_uj");
    if (!count || !range)
      unreadable = file.string();
    else
      packages_.push_back({file, *range, *count, 0});
  }
  if (!packages_.empty()) return;
  missing_ = unreadable.empty() ? core::format("{} has no processor package", folder.string())
                                : core::format("{} cannot be read; the kernel keeps it for root", unreadable);
}

/// The mutex is held.
void EnergyMeter::look() {
  for (auto& package : packages_) {
    const auto count = number_in(package.file);
    if (!count) continue;
    auto more = *count - package.last_uj;
    if (more < 0) more += package.range_uj;
    package.joules += static_cast<double>(more) * 1e-6;
    package.last_uj = *count;
  }
}

double EnergyMeter::joules() {
  const std::lock_guard lock(mutex_);
  look();
  double sum = 0;
  for (const auto& package : packages_) sum += package.joules;
  return sum;
}

}  // namespace galvatron::measure
