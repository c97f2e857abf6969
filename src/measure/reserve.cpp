// Resident, not virtual, bytes: libraries reserve far more than they touch.
#include "measure/reserve.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <memory>
#include <utility>

#include "comm/background.hpp"
#include "device/topology.hpp"
#include "kernels/kernels.hpp"
#include "measure/collective_call.hpp"
#include "measure/gather.hpp"
#include "program/lower.hpp"
#include "runtime/kernel_args.hpp"

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

namespace {

/// The growth of this process while `body` runs.
int64_t growth(const std::function<void()>& body) {
  device::give_back_free_memory();
  const auto before = resident_bytes();
  body();
  return std::max<int64_t>(resident_bytes() - before, 0);
}

/// Talk as long as a training step's: everything that passes it touches what there is.
class Talk {
 public:
  explicit Talk(device::Device& device) : in_(device, bytes), out_(device, bytes) {
    std::memset(in_.data(), 0, bytes);
    std::memset(out_.data(), 0, bytes);
  }

  void collectives(comm::Communicator& group) {
    const auto elements = elements_for(bytes / 2, group.size());
    for (const auto kind : kinds) call(group, kind, in_.data(), out_.data(), elements);
  }

  static constexpr core::CollectiveKind kinds[] = {core::CollectiveKind::all_reduce,
                                                   core::CollectiveKind::all_gather,
                                                   core::CollectiveKind::reduce_scatter};

 private:
  static constexpr int64_t bytes = 1 << 20;  // more than passes through shared memory at once
  device::Buffer in_, out_;
};

}  // namespace

void measure_reserve_units(comm::World& world, device::Device& device, cost::HardwareProfile& profile) {
  std::vector<int> neighbours;
  for (int r = 0; r < world.size(); ++r)
    if (world.node_of(r) == world.node()) neighbours.push_back(r);
  const auto members = static_cast<int64_t>(neighbours.size());
  std::vector<int64_t> units = {0, 0, 0};
  if (members > 1) {
    Talk talk(device);
    core::FormTable shared;
    for (const auto kind : Talk::kinds) shared.rows.push_back({kind, 0, core::Form::shared});
    // What the first group touches, later ones use again.
    constexpr int64_t groups = 4;
    std::vector<std::unique_ptr<comm::Communicator>> made;
    const auto make = [&](const core::FormTable& forms) -> comm::Communicator& {
      return *made.emplace_back(world.make_communicator(neighbours, comm::TrafficClass::layer, forms));
    };
    talk.collectives(make({}));
    units[0] = growth([&] {
                 for (int64_t i = 0; i < groups; ++i) talk.collectives(make({}));
               }) /
               groups;
    units[1] = growth([&] {
                 for (int64_t i = 0; i < groups; ++i) talk.collectives(make(shared));
               }) /
               groups / members;
    comm::Background thread;
    units[2] = growth([&] { thread.wait(thread.submit([&] { talk.collectives(*made.front()); })); });
  }
  world.all_reduce(std::span<int64_t>(units), comm::ReduceOp::max);
  profile.reserve_units = {units[0], units[1], units[2]};
}

int64_t measure_plan_kernels(device::Device& device, int32_t threads, const std::vector<LayerCase>& layers) {
  std::unique_ptr<kernels::Kernels> kernels;
  return growth([&] {
    kernels = kernels::make_kernels(device, threads);
    const runtime::KernelWorkspace workspace(*kernels);
    std::vector<spec::LayerSpec> seen;
    for (const auto& [layer, context] : layers) {
      if (std::find(seen.begin(), seen.end(), layer) != seen.end()) continue;
      seen.push_back(layer);
      program::lower(layer, context, workspace);
    }
    device::give_back_free_memory();
  });
}

}  // namespace galvatron::measure
