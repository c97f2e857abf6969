// Resident, not virtual, bytes: libraries reserve far more than they touch.
#include "measure/reserve.hpp"

#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <utility>

namespace galvatron::measure {

int64_t resident_bytes() {
  std::ifstream file("/proc/self/statm");
  int64_t size = 0;
  int64_t resident = 0;
  if (!(file >> size >> resident)) return 0;
  return resident * static_cast<int64_t>(sysconf(_SC_PAGESIZE));
}

int64_t peak_resident_bytes() {
  std::ifstream file("/proc/self/status");
  std::string word;
  while (file >> word)
    if (int64_t kibibytes = 0; word == "VmHWM:" && file >> kibibytes) return kibibytes * 1024;
  return 0;
}

void forget_peak_resident() {
  std::ofstream("/proc/self/clear_refs") << "5";
}

ReserveMeter::ReserveMeter(std::function<int64_t()> resident) : resident_(std::move(resident)) {}

void ReserveMeter::mark(const std::string& part) {
  const int64_t now = resident_();
  parts_[part] += std::max<int64_t>(now - last_, 0);
  last_ = std::max(last_, now);
}

void ReserveMeter::skip() {
  last_ = std::max(last_, resident_());
}

int64_t ReserveMeter::total() const {
  int64_t sum = 0;
  for (const auto& [part, bytes] : parts_) sum += bytes;
  return sum;
}

}  // namespace galvatron::measure
