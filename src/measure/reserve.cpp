// Resident, not virtual, bytes: libraries reserve far more than they touch.
#include "measure/reserve.hpp"

#include <dlfcn.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <memory>
#include <utility>

#include "comm/background.hpp"
#include "measure/collective_call.hpp"
#include "measure/gather.hpp"

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

void give_back_free_memory() {
  // Not every C library has it.
  using Trim = int (*)(size_t);
  if (auto* trim = reinterpret_cast<Trim>(dlsym(RTLD_DEFAULT, "malloc_trim"))) trim(0);
}

ReserveMeter::ReserveMeter(std::function<int64_t()> resident) : resident_(std::move(resident)) {}

void ReserveMeter::mark(const std::string& part) {
  const int64_t now = resident_();
  parts_[part] += std::max<int64_t>(now - last_, 0);
  last_ = std::max(last_, now);
  order_.push_back(part);
}

void ReserveMeter::skip() {
  const int64_t now = resident_();
  skipped_ += std::max<int64_t>(now - last_, 0);
  last_ = std::max(last_, now);
}

void ReserveMeter::settle() {
  int64_t excess = total() - std::max<int64_t>(resident_() - skipped_, 0);
  for (auto part = order_.rbegin(); part != order_.rend() && excess > 0; ++part) {
    const int64_t taken = std::min(excess, parts_[*part]);
    parts_[*part] -= taken;
    excess -= taken;
  }
  last_ = total() + skipped_;
}

int64_t ReserveMeter::total() const {
  int64_t sum = 0;
  for (const auto& [part, bytes] : parts_) sum += bytes;
  return sum;
}

void store_reserve(comm::World& world, ReserveMeter& meter, cost::HardwareProfile& profile) {
  give_back_free_memory();
  meter.settle();
  const auto totals = world.all_gather(meter.total());
  const auto fullest = static_cast<size_t>(std::max_element(totals.begin(), totals.end()) - totals.begin());
  std::vector<double> mine;
  for (const auto& [part, bytes] : meter.parts()) mine.push_back(static_cast<double>(bytes));
  const auto all = gather_numbers(world, mine);
  if (totals[fullest] <= profile.reserve_bytes) return;
  profile.reserve_bytes = totals[fullest];
  profile.reserve_parts.clear();
  size_t at = 0;
  for (const auto& [part, bytes] : meter.parts())
    profile.reserve_parts[part] = static_cast<int64_t>(all[fullest][at++]);
}

void measure_reserve_units(comm::World& world, device::Device& device, cost::HardwareProfile& profile) {
  constexpr int64_t bytes = 1 << 20;  // more than passes through shared memory at once
  const device::Buffer in(device, bytes), out(device, bytes);
  std::memset(in.data(), 0, bytes);
  std::memset(out.data(), 0, bytes);
  std::vector<int> neighbours;
  for (int r = 0; r < world.size(); ++r)
    if (world.node_of(r) == world.node()) neighbours.push_back(r);
  const auto members = static_cast<int64_t>(neighbours.size());
  std::vector<int64_t> units = {0, 0, 0};
  if (members > 1) {
    const auto talk = [&](comm::Communicator& group) {
      const auto elements = elements_for(bytes / 2, members);
      for (const auto kind : {core::CollectiveKind::all_reduce, core::CollectiveKind::all_gather})
        call(group, kind, in.data(), out.data(), elements);
    };
    core::FormTable shared;
    for (const auto kind : {core::CollectiveKind::all_reduce, core::CollectiveKind::all_gather})
      shared.rows.push_back({kind, 0, core::Form::shared});
    const auto before = resident_bytes();
    const auto first = world.make_communicator(neighbours, comm::TrafficClass::layer);
    const auto second = world.make_communicator(neighbours, comm::TrafficClass::layer);
    talk(*first);
    talk(*second);
    const auto direct = resident_bytes();
    units[0] = std::max<int64_t>(direct - before, 0) / 2;
    const auto windowed = world.make_communicator(neighbours, comm::TrafficClass::layer, shared);
    talk(*windowed);
    const auto shown = resident_bytes();
    units[1] = std::max<int64_t>(shown - direct - units[0], 0) / members;
    comm::Background thread;
    thread.wait(thread.submit([&] { talk(*first); }));
    units[2] = std::max<int64_t>(resident_bytes() - shown, 0);
  }
  world.all_reduce(std::span<int64_t>(units), comm::ReduceOp::max);
  profile.reserve_units = {units[0], units[1], units[2]};
}

}  // namespace galvatron::measure
