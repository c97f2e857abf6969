// Counters that every system has.
#include <sys/resource.h>

#include <utility>

#include "core/format.hpp"
#include "measure/counters.hpp"

namespace galvatron::measure {
namespace {

double seconds_of(const timeval& time) {
  return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
}

std::vector<Reading> usage_now() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return {{"user seconds", seconds_of(usage.ru_utime)},
          {"system seconds", seconds_of(usage.ru_stime)},
          {"page faults", static_cast<double>(usage.ru_minflt + usage.ru_majflt)},
          {"voluntary switches", static_cast<double>(usage.ru_nvcsw)},
          {"involuntary switches", static_cast<double>(usage.ru_nivcsw)}};
}

class SoftwareCounters final : public Counters {
 public:
  explicit SoftwareCounters(std::string reason) : reason_(std::move(reason)), begin_(usage_now()) {}

  void start() override { begin_ = usage_now(); }
  std::vector<Reading> stop() override {
    auto readings = usage_now();
    for (size_t i = 0; i < readings.size(); ++i) readings[i].value -= begin_[i].value;
    return readings;
  }
  std::string missing() const override { return reason_; }

 private:
  std::string reason_;
  std::vector<Reading> begin_;
};

}  // namespace

std::unique_ptr<Counters> make_software_counters(std::string reason) {
  return std::make_unique<SoftwareCounters>(std::move(reason));
}

std::string reading_text(const std::string& phase, const std::vector<Reading>& readings) {
  std::vector<std::string> parts;
  for (const auto& r : readings) parts.push_back(core::format("{} {:.6g}", r.name, r.value));
  return phase + ": " + core::join(parts, ", ");
}

}  // namespace galvatron::measure
